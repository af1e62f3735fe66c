/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/* What caused the noise of a spike of --trigger noise. */
#ifndef LIB_CAPTURE_NOISE_H
#define LIB_CAPTURE_NOISE_H

#include "bpf/trigger.h"
#include "perf_poke.h"

/* Stores the noises of the spike, and the largest one as its label. */
void noise_explain(struct perf_poke_spike *spike, const struct trigger_noise_parts *parts);

#endif
