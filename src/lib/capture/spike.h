/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/* A spike: from the record in the ring buffer, and the maps beside it, to struct perf_poke_spike.
 */
#ifndef LIB_CAPTURE_SPIKE_H
#define LIB_CAPTURE_SPIKE_H

#include "capture/capture.h"

/* What the record has. */
struct perf_poke_spike spike_of(const struct config *config, const struct trigger_spike *seen);

/* The stacks, which are named with the memory maps of their tasks. */
void spike_take_stacks(const struct capture_env *env, struct capture *capture);

/* The rest. Waits for the late thread. */
void spike_complete(const struct capture_env *env, struct capture *capture);

/* Stores the noises of a spike of the trigger noise, and the largest one as its label. */
void spike_explain_noise(struct perf_poke_spike *spike, const struct trigger_noise_parts *parts);

#endif
