/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/* --adaptive, --cooldown, --keep-worst, --max-disk: what raises the bar for the next capture. */
#ifndef LIB_SESSION_RULES_H
#define LIB_SESSION_RULES_H

#include "capture/keep.h"
#include "capture/writer.h"
#include "options/config.h"
#include "trigger/trigger.h"

struct rules {
	/* The session's own. */
	struct config *config;
	struct trigger *trigger;
	struct writer *writer;
	const struct output *output;
	struct keep *keep;
	uint64_t floors_ns[TRIGGER_KINDS]; /* what a latency must exceed to be kept; 0: nothing */
	int warmup_fd; /* readable once the warm-up is over; -1: there is none */
};

/* Before it is armed; the session's own are set. */
int rules_start(struct rules *rules);

/* When the warm-up is over: thresholds are what was measured. */
void rules_poll(struct rules *rules);

/* After a spike was taken: none is for a time. */
void rules_cool(struct rules *rules, uint64_t spike_ns);

/* Drops what is too much. After the capture was reported: it may be this one. */
void rules_keep(struct rules *rules, const struct capture *done);

void rules_stop(struct rules *rules);

#endif
