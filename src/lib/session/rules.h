/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/* --cooldown, --keep-worst, --max-disk: which captures to take and to keep. */
#ifndef LIB_SESSION_RULES_H
#define LIB_SESSION_RULES_H

#include "capture/capture.h"
#include "options/config.h"
#include "trigger/trigger.h"

struct rules {
	/* Set by the session: */
	const struct config *config;
	struct trigger *trigger;
	struct writer *writer;
	const struct output *output;
	struct keep *keep;
	uint64_t floors_ns[TRIGGER_KINDS]; /* only latencies above it are kept; 0: all */
};

/* Call before the session is armed. */
int rules_start(struct rules *rules);

/* Begins the cooldown after a spike. */
void rules_cool(struct rules *rules, uint64_t spike_ns);

/* Call after the report of a capture: removes captures over the limits, perhaps this one. */
void rules_keep(struct rules *rules, const struct capture *done);

void rules_stop(struct rules *rules);

#endif
