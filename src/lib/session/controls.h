/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/* Controls: captures of latencies below the threshold, at random moments, to compare with spikes.
 * At each moment, asks the trigger for the next latency of a random kind on a random CPU. */
#ifndef LIB_SESSION_CONTROLS_H
#define LIB_SESSION_CONTROLS_H

#include "options/config.h"
#include "session/moments.h"
#include "trigger/trigger.h"

struct controls {
	const struct config *config;
	struct trigger *trigger;
	int fd; /* readable at the next moment; -1: none */
	uint64_t left;
	uint64_t pending; /* given to the writer */
	bool asked;	  /* the trigger waits for a latency of this kind on this CPU */
	enum perf_poke_trigger_kind kind;
	int cpu;
	struct moments moments;
};

/* Call before the session is armed. */
int controls_start(struct controls *controls, const struct config *config, struct trigger *trigger);

/* Asks for a control if it is time. armed: whether one can be taken now. */
void controls_poll(struct controls *controls, bool armed);

/* Call after a snapshot of a control, or of a spike that came first. */
void controls_taken(struct controls *controls, bool control);

/* Call when a control was written or lost; a lost one is replaced. */
void controls_written(struct controls *controls, int error);

void controls_stop(struct controls *controls);

#endif
