/* SPDX-License-Identifier: GPL-2.0-only */
/* The trigger report: latencies that programs measured and reported. */
#ifndef REPORT_H
#define REPORT_H

#include <linux/errno.h>

#include "spike.h"
#include "stack.h"

static __noinline int report_spike(void *ctx, struct trigger_cpu *cpu,
				   const struct trigger_report *report, __u64 latency_ns)
{
	struct trigger_spike *s = take_raw(cpu, PERF_POKE_TRIGGER_REPORT, latency_ns);

	if (!s)
		return 0;
	s->actual_ns = report->actual_ns;
	s->expected_ns = report->actual_ns - latency_ns;
	s->cpu = s->ran_cpu;
	/* The controller finds the rest of another thread. */
	if (report->tid && report->tid != (__u64)-1)
		s->tid = s->late.tid = report->tid;
	else
		fill_task(s);
	if (!report->tid)
		fill_late_current(s);
	__builtin_memcpy(s->label, report->label, sizeof(s->label));
	stack_at_spike(ctx, s->sequence);
	tell(s);
	return 1;
}

/* BPF_PROG_TEST_RUN on the reported CPU. Returns 1 if it takes a spike. */
SEC("?raw_tp")
int report_late(const struct trigger_report *args)
{
	struct trigger_report report = *args;
	struct trigger_cpu *cpu = cpu_of_kind(bpf_get_smp_processor_id(), PERF_POKE_TRIGGER_REPORT);
	__u64 latency_ns;

	if (!cpu || !cpu->watched)
		return -ENXIO;
	if (!report.actual_ns)
		report.actual_ns = bpf_ktime_get_ns();
	latency_ns = lateness(report.actual_ns, report.expected_ns);
	if (latency_ns < cpu->threshold_ns) {
		count_late(cpu, latency_ns);
		return 0;
	}
	return report_spike((void *)args, cpu, &report, latency_ns);
}

#endif
