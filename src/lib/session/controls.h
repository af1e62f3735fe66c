/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/* Controls: captures of latencies that are no spikes, at random moments, to compare spikes with. At
 * each moment, the trigger is asked for the next latency of a random kind on a random CPU. */
#ifndef LIB_SESSION_CONTROLS_H
#define LIB_SESSION_CONTROLS_H

#include "options/config.h"
#include "session/moments.h"
#include "trigger/trigger.h"

struct controls {
	const struct config *config;
	struct trigger *trigger;
	int fd; /* readable at the next moment; -1: there are none */
	uint64_t left;
	uint64_t pending; /* with the writer */
	bool asked;	  /* the trigger wants a latency of this kind on this CPU */
	enum trigger_kind kind;
	int cpu;
	struct moments moments;
};

/* Before the session is armed. */
int controls_start(struct controls *controls, const struct config *config, struct trigger *trigger);

/* Asks for a control if the moment has come; armed: whether one can be taken now. */
void controls_poll(struct controls *controls, bool armed);

/* A snapshot has been taken, of a control or of a spike that came first. */
void controls_taken(struct controls *controls, bool control);

/* A control has been written, or is lost: then another one is taken. */
void controls_written(struct controls *controls, int error);

void controls_stop(struct controls *controls);

#endif
