/* SPDX-License-Identifier: GPL-2.0-only */
/* What a CPU did in a window: nested spans in lanes, from any recorder. */
#ifndef REPORT_SPANS_H
#define REPORT_SPANS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "code/names.h"
#include "facts/hardware.h"
#include "facts/samples.h"

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
	bool has_irqs_off;
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
uint32_t lane_at(const struct lane *lane, uint64_t at);

/* The innermost span open at the end, or SPAN_NONE. */
uint32_t lane_at_end(const struct lane *lane, uint64_t end);

/* Kind of a kernel entry point by name. */
enum span_kind spans_kind_of_entry(const char *function);
enum span_kind spans_kind_of_function(const char *function);

/* Such as `softirq` and `interrupt`. */
const char *span_kind_name(enum span_kind kind);

/* The overlap of a span with [begin, end]. */
static inline uint64_t span_within(const struct span *span, uint64_t begin, uint64_t end)
{
	uint64_t from = span->begin > begin ? span->begin : begin;
	uint64_t to = span->end < end ? span->end : end;

	return to > from ? to - from : 0;
}

#endif
