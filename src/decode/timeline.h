/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Tracks with slices in them, written to one file or, cut at equal times, to several. Slices that
 * turn out to have begun before anything that is written already are put in front at the end: what
 * is written goes to a nameless file first.
 */
#ifndef DECODE_TIMELINE_H
#define DECODE_TIMELINE_H

#include "fxt.h"
#include "pieces.h"

struct timeline_opts {
	const char *path;     /* of the result; with .gz at its end it is compressed */
	uint64_t begin, end;  /* what is written of the time; 0 and UINT64_MAX for all */
	uint64_t split;	      /* so much time in a file; 0 for one file */
	bool counted;	      /* positions are counted, not times: 0 where the window opens */
	uint16_t max_strings; /* as of fxt_new() */
	uint8_t max_threads;
	struct fxt_copying copying;
};

struct timeline;
struct track;

int timeline_new(struct timeline **ret, const struct timeline_opts *opts,
		 struct names *names) _must_check_;
void timeline_free(struct timeline *timeline);

/* A new track; NULL if there is no memory, which is kept for timeline_finish(). */
struct track *timeline_track(struct timeline *timeline, uint64_t process, uint64_t thread,
			     uint32_t process_name, uint32_t thread_name);

/* What they are called from now on: of several names in a file the last one counts. Process_name is
 * 0 if the process keeps its own. */
void track_rename(struct track *track, uint32_t process_name, uint32_t thread_name);

/* To be called with the time of what comes next. Returns true when the window opens: counted
 * positions begin anew then. */
bool timeline_advance(struct timeline *timeline, uint64_t time);

/* Nothing of the time after the window is written. */
bool timeline_closed(const struct timeline *timeline);

/* Positions never go back on a track: one that would is where the track is. */
void track_begin(struct track *track, uint64_t at, uint32_t category, uint32_t name);
/* On a track without open slices: what has been open around all since track_restart(). */
void track_begin_late(struct track *track, uint32_t category, uint32_t name);
void track_end(struct track *track, uint64_t at, const struct fxt_arg *args, size_t nr_args);
void track_instant(struct track *track, uint64_t at, uint32_t category, uint32_t name,
		   const struct fxt_arg *args, size_t nr_args);
void track_flow(struct track *track, uint64_t at, enum fxt_event_type type, uint32_t category,
		uint32_t name, uint64_t flow);
/* On a track without open slices: what comes now begins after what ended. */
void track_restart(struct track *track, uint64_t at);
size_t track_depth(const struct track *track);

/* A CPU goes from the thread of one track to that of another. */
void timeline_switch(struct timeline *timeline, uint64_t at, int cpu, struct track *from,
		     struct track *to);

uint64_t timeline_slices(const struct timeline *timeline);

/*
 * Several processes can write what is one timeline, a piece each: all of them do the same, but each
 * piece goes to a file in one of them only. What comes after this is a piece that is left out here;
 * it has a number, from 0.
 */
int timeline_leave_out(struct timeline *timeline) _must_check_;

bool timeline_is_left_out(const struct timeline *timeline);
/* The piece goes to this file instead, in a process that ends with it. */
void timeline_write_piece(struct timeline *timeline, FILE *file);
int timeline_end_piece(struct timeline *timeline) _must_check_;
/* What comes next is in no piece. */
void timeline_write_rest(struct timeline *timeline);
/* The file of a piece, which is closed with the timeline. These return 0 or a
 * negative errno. */
int timeline_put_piece(struct timeline *timeline, int number, int fd) _must_check_;

/* Ends what is open, and makes the files appear under their names. Returns 0 or a negative errno,
 * and then there are none. */
int timeline_finish(struct timeline *timeline, uint64_t at) _must_check_;

#endif
