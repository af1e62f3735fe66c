/* SPDX-License-Identifier: GPL-2.0-only */
/* Spikes that others measured: programs that report them, and rtla. */
#ifndef REPORTED_BPF_H
#define REPORTED_BPF_H

#include <linux/errno.h>

#include "spike.bpf.h"
#include "stack.bpf.h"

/* -- The trigger report: latencies that programs measured and reported. */

static __noinline int reported_take_spike(void *ctx, struct trigger_cpu *cpu,
					  const struct trigger_report *report, __u64 latency_ns)
{
	struct trigger_spike *s = spike_take_raw(cpu, PERF_POKE_TRIGGER_REPORT, latency_ns);

	if (!s)
		return 0;
	s->actual_ns = report->actual_ns;
	s->expected_ns = report->actual_ns - latency_ns;
	s->cpu = s->ran_cpu;
	/* The controller finds the rest of another thread. */
	if (report->tid && report->tid != (__u64)-1)
		s->tid = s->late.tid = report->tid;
	else
		spike_fill_task(s);
	if (!report->tid)
		spike_fill_late_current(s);
	__builtin_memcpy(s->label, report->label, sizeof(s->label));
	stack_at_spike(ctx, s->sequence);
	spike_submit(s);
	return 1;
}

/* BPF_PROG_TEST_RUN on the reported CPU. Returns 1 if it takes a spike. */
SEC("?raw_tp")
int report_late(const struct trigger_report *args)
{
	struct trigger_report report = *args;
	struct trigger_cpu *cpu =
		cpu_stats_of_kind(bpf_get_smp_processor_id(), PERF_POKE_TRIGGER_REPORT);
	__u64 latency_ns;

	if (!cpu || !cpu->watched)
		return -ENXIO;
	if (!report.actual_ns)
		report.actual_ns = bpf_ktime_get_ns();
	latency_ns = latency_between(report.actual_ns, report.expected_ns);
	if (latency_ns < cpu->threshold_ns) {
		cpu_stats_count_late(cpu, latency_ns);
		return 0;
	}
	return reported_take_spike((void *)args, cpu, &report, latency_ns);
}

/* -- Spikes by rtla's threshold: rtla runs trigger_rtla through rtla_action.bpf.c, inside a perf
 * tracepoint, where no other perf tracepoint event can fire. So the trace cannot be frozen there.
 * The irq_work of a ring buffer freezes it, as soon as the CPU accepts interrupts. */

struct trigger_spike rtla_spike = {};
/* CPU of rtla_spike plus one; 0: none. */
__u32 rtla_cpu = 0;

/* The records carry no data. A separate ring, because the irq_work of the other ring may be pending
 * on another CPU. */
struct {
	__uint(type, BPF_MAP_TYPE_RINGBUF);
	__uint(max_entries, 4096);
} rtla_kicks SEC(".maps");

static __always_inline bool rtla_kick_irq_work(void)
{
	void *record = bpf_ringbuf_reserve(&rtla_kicks, sizeof(__u64), 0);

	if (!record)
		return false;
	bpf_ringbuf_discard(record, BPF_RB_FORCE_WAKEUP);
	return true;
}

static __always_inline void rtla_note_spike(__u32 cpu, __u32 kind, __u64 latency_ns)
{
	__builtin_memset(&rtla_spike, 0, sizeof(rtla_spike));
	rtla_spike.by_rtla = 1;
	rtla_spike.kind = kind;
	rtla_spike.cpu = cpu;
	rtla_spike.latency_ns = latency_ns;
	rtla_spike.time_ns = bpf_ktime_get_ns();
	rtla_spike.actual_ns = rtla_spike.time_ns;
	rtla_spike.expected_ns = rtla_spike.time_ns - latency_ns;
	if (kind == PERF_POKE_TRIGGER_IRQ)
		rtla_spike.irq_ns = latency_ns;
	else if (kind == PERF_POKE_TRIGGER_THREAD)
		rtla_spike.thread_ns = latency_ns;
	else
		rtla_spike.user_ns = latency_ns;
	spike_fill_task(&rtla_spike);
	if (kind != PERF_POKE_TRIGGER_IRQ)
		spike_fill_late_current(&rtla_spike);
}

SEC("?tp/timerlat_action")
int trigger_rtla(const struct trace_event_raw_timerlat_sample *sample)
{
	__u32 key = bpf_get_smp_processor_id(), kind = sample->context;
	struct trigger_cpu *cpu = bpf_map_lookup_elem(&cpus, &key);

	if (!cpu || !cpu->watched || kind > PERF_POKE_TRIGGER_USER)
		return 0;
	if (disarmed || __sync_val_compare_and_swap(&armed, 1, 0) != 1) {
		cpu->unarmed++;
		return 0;
	}
	rtla_note_spike(key, kind, sample->timer_latency);
	__sync_lock_test_and_set(&rtla_cpu, key + 1);
	if (rtla_kick_irq_work())
		return 0;
	__sync_lock_test_and_set(&rtla_cpu, 0);
	cpu->unarmed++;
	__sync_lock_test_and_set(&armed, 1);
	return 0;
}

SEC("?tp_btf/irq_work_entry")
int rtla_hold(void *ctx)
{
	__u32 key = bpf_get_smp_processor_id();
	struct trigger_spike *s;
	struct trigger_cpu *cpu;
	__u64 frozen_ns;

	if (rtla_cpu != key + 1)
		return 0;
	cpu = bpf_map_lookup_elem(&cpus, &key);
	if (!cpu || __sync_val_compare_and_swap(&rtla_cpu, key + 1, 0) != key + 1)
		return 0;
	s = spike_reserve_record(cpu);
	if (!s)
		return 0;
	frozen_ns = spike_freeze_trace();
	*s = rtla_spike;
	s->frozen_ns = frozen_ns;
	spike_poke_targets(s, true);
	/* This interrupt directly follows the timer's. A late thread already runs. */
	if (s->kind == PERF_POKE_TRIGGER_IRQ)
		stack_at_spike(ctx, s->sequence);
	return spike_submit(s);
}

#endif
