/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Puts together what several perfs decoded of one trace, each a slice of its time, and a little
 * more on both sides: where two slices meet both must say the same. Then the result is what one
 * perf would have made of it all.
 *
 * Slices are gone through in order, by a process that writes nothing. At each one it may fork: the
 * child writes what comes of this slice.
 */
#ifndef DLFILTER_MERGE_H
#define DLFILTER_MERGE_H

#include "args.h"

struct merge;

/* The arguments are those of the filter, and must live as long. */
int merge_new(struct merge **ret, struct args *args) _must_check_;
void merge_free(struct merge *merge);

/* What a slice is cut from, as perf told it in a file of stream.h: it ends before `end`, and the
 * next one's file begins at `next`. Returns 0, or a negative errno: -ESTALE if it is not what the
 * slice before goes on with. */
int merge_slice(struct merge *merge, const char *path, uint64_t next, uint64_t end) _must_check_;

/* Goes through it; returns 0 or a negative errno. What is left out has the number of slices before
 * it, for merge_put(). `meanwhile`, or NULL, is called some hundred times a second while one is
 * left out: a negative errno of it ends that. */
int merge_leave_out(struct merge *merge, int (*meanwhile)(void *arg), void *arg) _must_check_;
int merge_write(struct merge *merge, FILE *file) _must_check_;

/* What another process wrote of a slice; the descriptor is taken over. */
int merge_put(struct merge *merge, int number, int fd) _must_check_;

/* After the last slice, with all that was left out put in: makes the files of the result. */
int merge_finish(struct merge *merge, uint64_t *slices, uint64_t *gaps) _must_check_;

#endif
