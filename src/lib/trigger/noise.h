/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/* A sample of the tracer osnoise as a trigger: see struct trigger_row. */
#ifndef LIB_TRIGGER_NOISE_H
#define LIB_TRIGGER_NOISE_H

#include <stdbool.h>
#include <stdint.h>

#include "bpf/trigger.h"
#include "options/config.h"

struct trigger;
struct trigger_config;

int noise_check(struct config *config);
int noise_load(struct trigger *trigger, const struct trigger_config *config, const struct log *log);

/* The parts of the newest noise up to a spike. Returns false if there are none of this spike (any
 * more). Any thread. */
bool noise_parts(const struct trigger *trigger, uint64_t sequence,
		 struct trigger_noise_parts *parts);

#endif
