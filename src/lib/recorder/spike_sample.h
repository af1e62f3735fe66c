/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/* The stack at the spike as a sample of an event of its own, `spike`, so that perf shows it. */
#ifndef LIB_RECORDER_SPIKE_SAMPLE_H
#define LIB_RECORDER_SPIKE_SAMPLE_H

#include "perf_poke.h"
#include "perfdata.h"

/* attr: of the file's other events; the clock is taken from it. */
struct perfdata_event spike_sample_event(const struct perf_event_attr *attr);

/* Nothing where there is no stack. time_ns: of the spike, on the clock of the file. */
int spike_sample_write(struct perfdata *pd, const struct perf_poke_spike *spike, uint64_t time_ns);

#endif
