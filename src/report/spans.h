/* SPDX-License-Identifier: GPL-2.0-only */
/* What a CPU did in a window of time, from whatever recorder: nested spans in lanes. */
#ifndef REPORT_SPANS_H
#define REPORT_SPANS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "hardware.h"
#include "names.h"
#include "samples.h"

/* More than anyone looks at, and about 200 MB. */
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
	SPAN_NR_KINDS,
};

struct span {
	uint64_t begin, end;
	uint64_t insns, cycles; /* 0: not known */
	uint32_t name;		/* of spans->names */
	uint32_t parent;	/* in the lane, or SPAN_NONE */
	uint16_t depth;
	uint8_t kind;
	bool cut; /* it began before what is known, or goes on after that */
	bool user;
};

/* In the order in which they begin, outer ones first. */
struct lane {
	struct span *spans;
	uint32_t nr, room;
	uint32_t open; /* the innermost one */
	/* Of those that were found late, where they belong in `spans`, until spans_settle(). */
	struct lane_late *late;
	uint32_t nr_late;
	uint32_t restart; /* what comes since then, they may be around */
	uint32_t roots;	  /* before it no span since the restart is without a parent */
};

enum lane_number {
	LANE_CODE, /* functions, or interrupts where no functions are known */
	LANE_TASKS,
	LANE_IRQS_OFF,
	LANE_GAPS,
	LANE_NR,
};

struct spans {
	struct names *names;
	struct lane lanes[LANE_NR];
	uint64_t begin, end; /* nothing is known outside of it */
	bool has_functions;
	bool has_irqs_off;
	struct power power;
	struct samples samples; /* of the CPU, where they were recorded */
	int tid;		/* of the task that is open, where only events tell of it */
};

int spans_new(struct spans **ret) _must_check_;
void spans_free(struct spans *spans);
static inline void spans_freep(struct spans **spans)
{
	spans_free(*spans);
}

/* Begins in what is open in the lane. Returns 0, -ENOMEM, or -E2BIG if there are SPANS_MAX. Times
 * that go back become that of the span before. */
int spans_begin(struct spans *spans, enum lane_number lane, uint64_t at, enum span_kind kind,
		const char *name) _must_check_;

/* The same, with a name of spans->names. */
int spans_begin_named(struct spans *spans, enum lane_number lane, uint64_t at, enum span_kind kind,
		      uint32_t name, bool user) _must_check_;

/* In a lane with nothing open: what begins now has nothing to do with what was before. */
void spans_restart(struct spans *spans, enum lane_number lane);

/* In a lane with nothing open: has been around all since spans_restart(), and around those that
 * were found so before. Returns as spans_begin(); spans_settle() puts it where it belongs. */
int spans_begin_late(struct spans *spans, enum lane_number lane, uint64_t at, enum span_kind kind,
		     uint32_t name, bool user) _must_check_;
int spans_settle(struct spans *spans, enum lane_number lane) _must_check_;

/* Ends the innermost one that is open, if there is any: it is returned, and may be added to. */
struct span *spans_end(struct spans *spans, enum lane_number lane, uint64_t at);

/* All that is open goes on after the end. */
void spans_finish(struct spans *spans, uint64_t end);

/* The innermost span at a moment, and from there the one around it; SPAN_NONE if there is none. */
uint32_t lane_at(const struct lane *lane, uint64_t at);

/* The innermost span that is open when all ends, as lane_at(). */
uint32_t lane_at_end(const struct lane *lane, uint64_t end);

/* What a function is, that the kernel or a CPU enters by itself: by its name. */
enum span_kind spans_kind_of_entry(const char *function);
enum span_kind spans_kind_of_function(const char *function);

/* As `softirq` and `interrupt`. */
const char *span_kind_name(enum span_kind kind);

/* The part of [begin, end] that a span has. */
static inline uint64_t span_within(const struct span *span, uint64_t begin, uint64_t end)
{
	uint64_t from = span->begin > begin ? span->begin : begin;
	uint64_t to = span->end < end ? span->end : end;

	return to > from ? to - from : 0;
}

#endif
