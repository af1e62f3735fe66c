/* SPDX-License-Identifier: GPL-2.0-only */
/* Made-up timelines: steps in order of time; one without a name ends the open span of its lane. */
#ifndef TEST_TIMELINE_H
#define TEST_TIMELINE_H

#include "cause/account.h"

struct step {
	enum lane_number lane;
	uint64_t at;
	enum span_kind kind;
	const char *name;
};

#define CALL(at, name) ((struct step){ LANE_CODE, at, SPAN_FUNCTION, name })
#define ENTER(at, kind, name) ((struct step){ LANE_CODE, at, kind, name })
#define RETURN(at) ((struct step){ LANE_CODE, at, SPAN_FUNCTION, NULL })
#define OFF(at, name) ((struct step){ LANE_IRQS_OFF, at, SPAN_IRQS_OFF, name })
#define ON(at) ((struct step){ LANE_IRQS_OFF, at, SPAN_IRQS_OFF, NULL })
#define TASK(at, name) ((struct step){ LANE_TASKS, at, SPAN_THREAD, name })
#define IDLE(at, name) ((struct step){ LANE_TASKS, at, SPAN_IDLE, name })
#define GAP(at, kind, name) ((struct step){ LANE_GAPS, at, kind, name })
#define END_GAP(at) ((struct step){ LANE_GAPS, at, SPAN_LOST, NULL })

/* A timer expected at 100us expires at 200us, detected at 201us; the window is 200us. */
static inline int timeline_make(struct account *account, const struct step *steps, size_t nr,
				bool pt)
{
	int r;

	*account = (struct account){
		.capture = "capture",
		.window_ns = 200000,
		.facts = { .recorder = pt ? PERF_POKE_RECORDER_PT : PERF_POKE_RECORDER_EVENTS,
			   .spike = { .cpu = 1,
				      .expected_ns = 100000,
				      .actual_ns = 200000,
				      .time_ns = 201000,
				      .latency_ns = 100000,
				      .pid = 7,
				      .tid = 7,
				      .comm = "stress" },
			   .function = "tick" },
	};
	r = spans_new(&account->spans);
	account->spans->has_functions = account->spans->has_irqs_off = pt;
	account->spans->begin = nr ? steps[0].at : 0;
	for (size_t i = 0; i < nr && !r; i++) {
		if (steps[i].name)
			r = spans_begin(account->spans, steps[i].lane, steps[i].at, steps[i].kind,
					steps[i].name);
		else
			spans_end(account->spans, steps[i].lane, steps[i].at);
	}
	spans_finish(account->spans, 201000);
	return r;
}

#define TIMELINE(account, pt, ...)                                                                 \
	timeline_make(account, (const struct step[]){ __VA_ARGS__ },                               \
		      sizeof((const struct step[]){ __VA_ARGS__ }) / sizeof(struct step), pt)

#endif
