/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/* Samples of osnoise as a trigger: see struct trigger_row. */
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

/* Gets the newest noises up to a spike. False if those of this spike are missing or gone. Any
 * thread. */
bool noise_parts(const struct trigger *trigger, uint64_t sequence,
		 struct trigger_noise_parts *parts);

#endif
