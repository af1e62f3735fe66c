// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
/* The trigger `reported`: latencies that programs measured. Most are counted here, in the memory
 * that they share with the BPF program; only one that may be a spike needs a system call. */
#include "trigger/trigger_internal.h"

#include <errno.h>
#include <linux/bpf.h>
#include <sched.h>
#include <string.h>
#include <sys/syscall.h>

#include "clock.h"
#include "util.h"

#define LOAD(field) __atomic_load_n(&(field), __ATOMIC_RELAXED)
#define ADD(field, value) __atomic_fetch_add(&(field), value, __ATOMIC_RELAXED)

static void raise_shared_maximum(__u64 *field, __u64 value)
{
	__u64 seen = LOAD(*field);

	while (seen < value && !__atomic_compare_exchange_n(field, &seen, value, false,
							    __ATOMIC_RELAXED, __ATOMIC_RELAXED))
		;
}

static void count_shared_latency(struct trigger_cpu *cpu, uint64_t latency_ns)
{
	ADD(cpu->count, 1);
	__atomic_store_n(&cpu->last_ns, latency_ns, __ATOMIC_RELAXED);
	ADD(cpu->sum_ns, latency_ns);
	raise_shared_maximum(&cpu->min_inverse, ~latency_ns);
	raise_shared_maximum(&cpu->max_ns, latency_ns);
	ADD(cpu->buckets[trigger_bucket(latency_ns)], 1);
}

int reported_count_latency(const struct trigger_counters *counters, int cpu_number,
			   uint64_t latency_ns)
{
	const struct trigger_bpf__data_arming *arming = counters->arming;
	struct trigger_cpu *cpu =
		(size_t)cpu_number < counters->nr_rows ? &counters->rows[cpu_number] : NULL;
	uint64_t quiet_until_ns;
	bool is_spike, is_kept;

	if (!cpu || !LOAD(cpu->watched))
		return -ENXIO;
	is_spike = latency_ns >= LOAD(cpu->threshold_ns);
	is_kept = latency_ns >= LOAD(arming->floor_ns[PERF_POKE_TRIGGER_REPORT]);
	/* Whoever arms the session first sets the rest. */
	if (is_spike && is_kept && __atomic_load_n(&arming->armed, __ATOMIC_ACQUIRE) &&
	    !LOAD(arming->disarmed)) {
		quiet_until_ns = LOAD(arming->quiet_until_ns);
		if (!quiet_until_ns || clock_ns(CLOCK_MONOTONIC) >= quiet_until_ns)
			return 1;
	}
	count_shared_latency(cpu, latency_ns);
	if (is_spike) {
		ADD(cpu->spikes, 1);
		ADD(cpu->unarmed, is_kept);
	}
	return 0;
}

#define SIZE_MIN offsetof(struct perf_poke_report, label)

static int report_copy_valid(struct perf_poke_report *to, const struct perf_poke_report *from)
{
	int err = from ? sized_struct_read(to, sizeof(*to), from, from->sz, SIZE_MIN) : -EINVAL;

	if (err)
		return err;
	return !to->expected_ns || to->tid < -1 || to->cpu < -1 ? -EINVAL : 0;
}

/* libbpf does not promise that its function is async-signal-safe. */
static int report_run_program(int prog_fd, const struct perf_poke_report *report)
{
	bool remote = report->cpu >= 0 && report->cpu != sched_getcpu();
	struct trigger_report args = {
		.expected_ns = report->expected_ns,
		.actual_ns = report->actual_ns,
		/* The program would find the thread that the report interrupts. */
		.tid = !report->tid && remote ? UINT64_MAX : (__u64)report->tid,
	};
	union bpf_attr attr;
	int saved = errno, ret;

	for (size_t i = 0; report->label && report->label[i] && i < sizeof(args.label) - 1; i++)
		args.label[i] = report->label[i];
	memset(&attr, 0, sizeof(attr));
	attr.test.prog_fd = (__u32)prog_fd;
	attr.test.ctx_in = (__u64)(uintptr_t)&args;
	attr.test.ctx_size_in = sizeof(args);
	if (report->cpu >= 0) {
		attr.test.flags = BPF_F_TEST_RUN_ON_CPU;
		attr.test.cpu = (__u32)report->cpu;
	}
	ret = (int)syscall(SYS_bpf, BPF_PROG_TEST_RUN, &attr, sizeof(attr));
	ret = ret < 0 ? -errno : (int)attr.test.retval;
	errno = saved;
	return ret;
}

int reported_take_latency(const struct reporter *reporter, const struct perf_poke_report *report)
{
	struct perf_poke_report known;
	int ret = report_copy_valid(&known, report), cpu;
	uint64_t now_ns;

	if (ret)
		return ret;
	cpu = known.cpu < 0 ? sched_getcpu() : known.cpu;
	if (cpu >= 0) {
		now_ns = known.actual_ns ? known.actual_ns : clock_ns(CLOCK_MONOTONIC);
		ret = reported_count_latency(&reporter->counters, cpu,
					     now_ns > known.expected_ns ? now_ns - known.expected_ns
									: 0);
		if (ret <= 0)
			return ret;
	}
	return report_run_program(reporter->prog_fd, &known);
}
