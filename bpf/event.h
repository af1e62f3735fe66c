/* SPDX-License-Identifier: GPL-2.0-only */
/* The trigger event: each hit of a tracepoint is a spike, at any latency. */
#ifndef EVENT_H
#define EVENT_H

#include "filter.h"
#include "spike.h"
#include "stack.h"

const volatile char event_name[TRIGGER_LABEL_SIZE] = "";
const volatile __u32 event_filtered = 0;

/* User space attaches it to the tracepoint. */
SEC("?raw_tp")
int event_seen(void *ctx)
{
	struct trigger_cpu *cpu = cpu_of_kind(bpf_get_smp_processor_id(), PERF_POKE_TRIGGER_EVENT);
	struct trigger_spike *s;

	if (!cpu || !cpu->watched)
		return 0;
	if (event_filtered && !filter_passes(FILTER_EVENT))
		return 0;
	if (cpu->threshold_ns == TRIGGER_NEVER) {
		count(cpu, 0);
		return 0;
	}
	s = take_raw(cpu, PERF_POKE_TRIGGER_EVENT, 0);
	if (!s)
		return 0;
	s->actual_ns = s->expected_ns = s->time_ns;
	s->cpu = s->ran_cpu;
	fill_task(s);
	fill_late_current(s);
	/* Volatile reads: user space sets this constant before loading. */
	for (int i = 0; i < TRIGGER_LABEL_SIZE; i++)
		s->label[i] = event_name[i];
	stack_at_spike(ctx, s->sequence);
	return tell(s);
}

#endif
