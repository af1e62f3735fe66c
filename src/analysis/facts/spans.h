/* SPDX-License-Identifier: GPL-2.0-only */
/* What a CPU did in a window: nested spans in lanes, from the tracks of Intel PT or from
 * tracepoints. */
#ifndef ANALYSIS_SPANS_H
#define ANALYSIS_SPANS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "code/names.h"
#include "events/tracepoints.h"
#include "facts/facts.h"
#include "facts/samples.h"
#include "facts/schedule.h"
#include "facts/work_senders.h"
#include "perf_poke.h"

struct arrows;
struct cpu;
struct cpu_names;
struct timeline_ops;

/* More than anybody reads; about 200 MB. */
#define SPANS_MAX (UINT32_C(1) << 22)
#define SPAN_NONE UINT32_MAX

enum span_kind {
	SPAN_FUNCTION,
	SPAN_SYSCALL,
	SPAN_INTERRUPT,
	SPAN_SOFTIRQ,
	SPAN_NMI,
	SPAN_EXCEPTION,
	SPAN_IDLE, /* a function that waits for interrupts, or the idle task */
	SPAN_THREAD,
	SPAN_UNTRACED,
	SPAN_LOST,
	SPAN_IRQS_OFF,
	SPAN_IRQS_UNKNOWN,
	SPAN_NR_KINDS,
};

struct span {
	uint64_t begin, end;
	uint64_t insns, cycles; /* 0: unknown */
	uint32_t name;		/* of spans->names */
	uint32_t parent;	/* in the lane, or SPAN_NONE */
	uint32_t depth;
	uint8_t kind;
	bool cut; /* began before the known window, or continued after it */
	bool user;
};

/* Ordered by begin; of equal begins, the outer span is first. */
struct lane {
	struct span *spans;
	uint32_t nr, room;
	uint32_t open; /* innermost open span */
	/* Places in `spans` of late spans, until spans_settle(). */
	struct lane_late *late;
	uint32_t nr_late;
	uint32_t restart; /* late spans enclose only spans from here on */
	uint32_t roots;	  /* all spans from `restart` to here have a parent */
};

enum lane_number {
	LANE_CODE, /* functions, or interrupts if functions are unknown */
	LANE_TASKS,
	LANE_IRQS_OFF,
	LANE_IRQS_UNKNOWN, /* nothing shows whether they were off */
	LANE_GAPS,
	LANE_NR,
};

/* From tracepoints of timers. The reader sets the first three, before. */
struct arming {
	uint64_t timer;	  /* address of the late timer; 0: none */
	uint64_t until;	  /* its interrupt */
	int tid;	  /* of the late thread; 0: none */
	uint64_t due;	  /* when the last timer that the thread armed was due; 0: none */
	uint64_t at;	  /* when the timer was armed for the last time; 0: unknown */
	uint64_t rearmed; /* when a timer interrupt, at its very end, set the clock device; 0: never
			   */
};

struct spans {
	struct names *names;
	struct lane lanes[LANE_NR];
	uint64_t begin, end; /* the known window */
	bool has_functions;
	bool has_irqs_off;	       /* and nothing else turned them off */
	enum ring_functions functions; /* of ftrace */
	struct power power;
	struct arming arming;
	struct samples samples; /* of the CPU, if recorded */
	int tid;		/* of the current task, if only events show tasks */
	uint64_t step_ns;	/* times of Intel PT may be so much too early; 0: exact */
};

int spans_new(struct spans **ret) _must_check_;
void spans_free(struct spans *spans);
static inline void spans_freep(struct spans **spans)
{
	spans_free(*spans);
}

/* Begins a span in the lane's open span. A time before that of the previous span is raised to it.
 * Returns 0, -ENOMEM, or -E2BIG at SPANS_MAX. */
int spans_begin(struct spans *spans, enum lane_number lane, uint64_t at, enum span_kind kind,
		const char *name) _must_check_;

/* The same, with a name of spans->names. */
int spans_begin_named(struct spans *spans, enum lane_number lane, uint64_t at, enum span_kind kind,
		      uint32_t name, bool user) _must_check_;

/* For a lane without open spans: later spans are separate from earlier ones. */
void spans_restart(struct spans *spans, enum lane_number lane);

/* For a lane without open spans: adds a span around all spans since spans_restart(), including
 * those added by this function. Returns as spans_begin(); spans_settle() moves it to its place. */
int spans_begin_late(struct spans *spans, enum lane_number lane, uint64_t at, enum span_kind kind,
		     uint32_t name, bool user) _must_check_;
int spans_settle(struct spans *spans, enum lane_number lane) _must_check_;

/* Ends the innermost open span. Returns it, so that the caller can complete it, or NULL. */
struct span *spans_end(struct spans *spans, enum lane_number lane, uint64_t at);

/* Ends all open spans as continuing after `end`. */
void spans_finish(struct spans *spans, uint64_t end);

/* The innermost span at a time; if it has ended, the one around it. SPAN_NONE: none. */
uint32_t lane_innermost_at(const struct lane *lane, uint64_t at);

/* The innermost span open at the end, or SPAN_NONE. */
uint32_t lane_innermost_at_end(const struct lane *lane, uint64_t end);

/* Kind of a kernel entry point by name. */
enum span_kind spans_kind_of_entry(const char *function);
enum span_kind spans_kind_of_function(const char *function);

/* Such as `softirq` and `interrupt`. */
const char *span_kind_name(enum span_kind kind);

/* The overlap of a span with [begin, end]. */
static inline uint64_t span_time_within(const struct span *span, uint64_t begin, uint64_t end)
{
	uint64_t from = span->begin > begin ? span->begin : begin;
	uint64_t to = span->end < end ? span->end : end;

	return to > from ? to - from : 0;
}

/* ---- Spans from tracepoints --------------------------------------------------------------------
 */

/* Reads the events of one CPU (negative: of all) up to `end`, and from `begin` on, senders of
 * interrupts to that CPU; all events into the schedule. Earlier events only determine which spans
 * are open at `begin`. Returns 0,
 * -ENODATA without events, -E2BIG with too many spans, or -ENOMEM. */
int events_spans_read(struct tracepoints *tracepoints, int cpu, uint64_t begin, uint64_t end,
		      struct spans *spans, struct senders *senders,
		      struct schedule *schedule) _must_check_;

/* Names the tasks whose switches were lost, if the schedule or the spike has their names. Returns 0
 * or -ENOMEM. */
int events_spans_name_tasks(struct spans *spans, const struct schedule *schedule,
			    const struct perf_poke_spike *spike) _must_check_;

/* Of an event, only what it tells of idle states, frequencies and the arming of timers. */
void events_spans_note(struct spans *spans, struct tracepoints *tracepoints,
		       const struct tracepoint_event *event);

/* The same for one event at a time, for several CPUs in parallel. The caller sets the first three
 * members. */
struct events_spans {
	struct spans *spans; /* empty */
	struct tracepoints *tracepoints;
	uint64_t begin;
	uint64_t last;
	bool any;
	size_t next_gap;  /* of tracepoints_gaps() */
	uint64_t resumed; /* end of the last one */
};
int events_spans_add_event(struct events_spans *to,
			   const struct tracepoint_event *event) _must_check_;
int events_spans_end(struct events_spans *to, uint64_t end) _must_check_;

/* ---- Spans from the tracks of Intel PT or ftrace, and tracks from spans
 * ----------------------------------
 */

struct track_spans;

/* The sink for track_spans_ops. A negative CPU means the first one seen. The timeline uses the
 * names of the spans and has one part. */
int track_spans_new(struct track_spans **ret, struct spans *spans, int cpu) _must_check_;
void track_spans_free(struct track_spans *sink);
static inline void track_spans_freep(struct track_spans **sink)
{
	track_spans_free(*sink);
}

/* finish() returns -ENODATA without data of that CPU, or errors of spans_begin(). */
extern const struct timeline_ops track_spans_ops;

/* Writes the spans of a CPU, made from events, as tracks of a timeline. Spans that continue after
 * the known window stay open. The ends of arrows are in their spans. Returns 0 or -ENOMEM. */
int spans_to_tracks(const struct spans *spans, const struct arrows *arrows, const struct cpu *cpu,
		    const struct cpu_names *cpu_names, struct names *names) _must_check_;

/* Writes the samples of a CPU as instants, named by their innermost functions. */
int spans_samples_to_track(const struct spans *spans, const struct cpu *cpu,
			   const struct cpu_names *cpu_names, struct names *names) _must_check_;

#endif
