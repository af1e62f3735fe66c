/* SPDX-License-Identifier: GPL-2.0-only */
/* The words of somebody's `perf record`: what they ask for, and what is put among them to control
 * it. */
#ifndef CTL_SESSION_PERF_RECORD_H
#define CTL_SESSION_PERF_RECORD_H

#include <stdbool.h>
#include <stdint.h>

#include "util.h"

/* Room for the word that wakes perf up, as in struct perf_poke_target. */
#define PERF_RECORD_WAKE 24

struct perf_record {
	char **words;	    /* the command, up to a NULL */
	size_t at;	    /* of the word `record`; 0: it is no perf record */
	const char *output; /* its file, or the beginning of the names of its files */
	bool has_output;    /* named by the user */
	const char *delay;  /* the user's own --delay; NULL: none */
	uint64_t delay_ns;  /* for so long it cannot answer */
	bool has_event;
};

/*
 * Understands a command. What is not perf record is none with `any`, else an error. Strings are not
 * copied. Returns 0, or a negative errno with *why, for the caller to free, saying what is wrong.
 */
int perf_record_read(struct perf_record *record, char **words, bool any, char **why) _must_check_;

/* A word of its own for each session. Returns 0 or a negative errno. */
int perf_record_make_wake(char wake[PERF_RECORD_WAKE]) _must_check_;

/*
 * The command that listens on `control` and answers on `ack`, and whose events are off until it is
 * told; with `wake` not NULL it is woken up by bpf_trace_printk() of that word. Up to a NULL, for
 * perf_record_free_argv(). Returns 0 or -ENOMEM.
 */
int perf_record_argv(const struct perf_record *record, int control, int ack, const char *wake,
		     char ***argv) _must_check_;

void perf_record_free_argv(char ***argv);

/* What to write first: the answer comes when it listens, and its events are on or, with a delay of
 * the user's, go on and off as that says. */
const char *perf_record_first(const struct perf_record *record);

#endif
