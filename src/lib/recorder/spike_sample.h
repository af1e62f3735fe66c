/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/* Writes the stacks at the spike as samples of an event `spike`, for perf. */
#ifndef LIB_RECORDER_SPIKE_SAMPLE_H
#define LIB_RECORDER_SPIKE_SAMPLE_H

#include "perf_poke.h"
#include "perfdata.h"

/* attr: of the file's other events, with their clock. */
struct perfdata_event spike_sample_event(const struct perf_event_attr *attr);

/* Writes the holder's stack, then the other; nothing without a stack. time_ns: of the spike on the
 * file's clock. */
int spike_sample_write(struct perfdata *pd, const struct perf_poke_spike *spike, uint64_t time_ns);

/* The processes whose user frames a capture has: of the late thread and of the stacks at the
 * spike. Ends with 0. */
struct spike_processes {
	int pids[4];
};

struct spike_processes spike_processes(const struct perf_poke_spike *spike);

#endif
