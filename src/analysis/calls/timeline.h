/* SPDX-License-Identifier: GPL-2.0-only */
/* Tracks of slices in a time window. The sink is a file, or spans in memory. */
#ifndef DECODE_TIMELINE_H
#define DECODE_TIMELINE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "code/names.h"
#include "util.h"

enum track_event_type {
	TRACK_INSTANT,
	TRACK_BEGIN,
	TRACK_END,
	TRACK_FLOW_BEGIN,
	TRACK_FLOW_END,
};

enum track_arg_type {
	TRACK_ARG_U64,
	TRACK_ARG_DOUBLE,
	TRACK_ARG_SPAN, /* time, in the form of --time */
	TRACK_ARG_BOOL,
	TRACK_ARG_TEXT,
};

struct track_arg {
	enum track_arg_type type;
	uint32_t key; /* in struct names, like all names here */
	union {
		uint64_t u64;
		double number;
		struct {
			uint64_t begin, end; /* ns */
		} span;
		bool boolean;
		uint32_t text; /* in struct names */
	};
};

struct track_event {
	enum track_event_type type;
	uint64_t at; /* position */
	uint32_t category, name;
	const struct track_arg *args;
	size_t nr_args;
	uint64_t flow;
};

enum track_kind {
	TRACK_CODE,
	TRACK_TASKS,
	TRACK_TIMER,
	TRACK_INTERRUPTS,
	TRACK_IRQS_OFF,
	TRACK_IRQS_UNKNOWN,
	TRACK_TRACE,
	TRACK_NR_OF_CPU,
	TRACK_THREAD = TRACK_NR_OF_CPU,
};

/* Slices of TRACK_TRACE in which it is unknown what was executed: the trace was lost, its code is
 * not in the capture, or does not fit. */
#define TRACK_LOST "[lost]"
#define TRACK_NO_CODE "[no code]"
#define TRACK_UNDECODED "[not decoded]"

struct track_id {
	enum track_kind kind;
	int cpu;		  /* -1: a thread's track */
	uint64_t process, thread; /* distinct numbers */
	uint32_t process_name, thread_name;
};

/* A slice that is found later and encloses everything since the track was restarted. Later ones
 * enclose earlier ones. */
struct track_late {
	bool ends; /* ends with the window; otherwise an event follows */
	uint64_t begin, end;
	uint32_t category, name;
};

/* `track` was returned by the function track; NULL: nothing is reported for it. rename, restart and
 * change may be NULL. Errors are kept until finish(). */
struct timeline_ops {
	void *(*track)(void *sink, const struct track_id *id);
	/* The ID has new names. open: the window is open. */
	void (*rename)(void *sink, void *track, const struct track_id *id, bool open);
	void (*event)(void *sink, void *track, const struct track_event *event);
	void (*restart)(void *sink, void *track);
	void (*late)(void *sink, void *track, const struct track_late *late);
	/* A CPU switches from one thread to another. */
	void (*change)(void *sink, uint64_t at, int cpu, void *from, void *to);
	int (*finish)(void *sink);
};

struct timeline_opts {
	uint64_t begin, end; /* time window; 0 and UINT64_MAX: everything */
	bool counted; /* positions are counts, not times, starting at 0 at the begin of the window
		       */
	const struct timeline_ops *ops;
	void *sink;
};

struct timeline;
struct track;

int timeline_new(struct timeline **ret, const struct timeline_opts *opts,
		 struct names *names) _must_check_;
void timeline_free(struct timeline *timeline);

/* Whether a time is in the window. */
bool timeline_has(const struct timeline *timeline, uint64_t time);

/* Creates a track. NULL if out of memory, which timeline_finish() reports. */
struct track *timeline_track(struct timeline *timeline, const struct track_id *id);

/* Sets the current names. process_name 0: unchanged. */
void track_rename(struct track *track, uint32_t process_name, uint32_t thread_name);

/* Call with the time of the next event. True: the window opens; counts restart. */
bool timeline_advance(struct timeline *timeline, uint64_t time);

/* Until then, timeline_advance() does nothing. */
uint64_t timeline_quiet_until(const struct timeline *timeline);

/* Positions on a track never decrease: earlier ones are raised. */
void track_begin(struct track *track, uint64_t at, uint32_t category, uint32_t name);
/* For a track without open slices: adds a slice that encloses everything since track_restart(). */
void track_begin_late(struct track *track, uint32_t category, uint32_t name);
void track_end(struct track *track, uint64_t at, const struct track_arg *args, size_t nr_args);
void track_instant(struct track *track, uint64_t at, uint32_t category, uint32_t name,
		   const struct track_arg *args, size_t nr_args);
void track_flow(struct track *track, uint64_t at, enum track_event_type type, uint32_t category,
		uint32_t name, uint64_t flow);
/* For a track without open slices: later slices begin after the ended ones. */
void track_restart(struct track *track, uint64_t at);
size_t track_depth(const struct track *track);

/* A CPU switches from the thread of one track to that of another. */
void timeline_switch(struct timeline *timeline, uint64_t at, int cpu, struct track *from,
		     struct track *to);

uint64_t timeline_slices(const struct timeline *timeline);

/* Ends open slices. Returns 0 or the first error as a negative errno. */
int timeline_finish(struct timeline *timeline, uint64_t at) _must_check_;

#endif
