// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
#include "trigger/trigger.h"

#include <errno.h>
#include <linux/bpf.h>
#include <sched.h>
#include <stddef.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "bpf/trigger.h"
#include "clock.h"
#include "sized_struct.h"

#define SIZE_MIN offsetof(struct perf_poke_report, label)

static int report_read(struct perf_poke_report *to, const struct perf_poke_report *from)
{
	int err = from ? sized_struct_read(to, sizeof(*to), from, from->sz, SIZE_MIN) : -EINVAL;

	if (err)
		return err;
	return !to->expected_ns || to->tid < -1 || to->cpu < -1 ? -EINVAL : 0;
}

/* libbpf does not promise that its function is async-signal-safe. */
static int report_run(int prog_fd, const struct trigger_report *args, int cpu)
{
	union bpf_attr attr;
	int saved = errno, ret;

	memset(&attr, 0, sizeof(attr));
	attr.test.prog_fd = (__u32)prog_fd;
	attr.test.ctx_in = (__u64)(uintptr_t)args;
	attr.test.ctx_size_in = sizeof(*args);
	if (cpu >= 0) {
		attr.test.flags = BPF_F_TEST_RUN_ON_CPU;
		attr.test.cpu = (__u32)cpu;
	}
	ret = (int)syscall(SYS_bpf, BPF_PROG_TEST_RUN, &attr, sizeof(attr));
	ret = ret < 0 ? -errno : (int)attr.test.retval;
	errno = saved;
	return ret;
}

static int report_pass(int prog_fd, const struct perf_poke_report *report)
{
	bool remote = report->cpu >= 0 && report->cpu != sched_getcpu();
	struct trigger_report args = {
		.expected_ns = report->expected_ns,
		.actual_ns = report->actual_ns,
		/* The program would find the thread that the report interrupts. */
		.tid = !report->tid && remote ? UINT64_MAX : (__u64)report->tid,
	};

	for (size_t i = 0; report->label && report->label[i] && i < sizeof(args.label) - 1; i++)
		args.label[i] = report->label[i];
	return report_run(prog_fd, &args, report->cpu);
}

static int report_cpu(const struct perf_poke_report *report)
{
	return report->cpu < 0 ? sched_getcpu() : report->cpu;
}

static uint64_t report_latency_ns(const struct perf_poke_report *report)
{
	uint64_t now = report->actual_ns ? report->actual_ns : clock_ns(CLOCK_MONOTONIC);

	return now > report->expected_ns ? now - report->expected_ns : 0;
}

int report_count(const struct reporter *reporter, const struct perf_poke_report *report)
{
	struct perf_poke_report known;
	int ret = report_read(&known, report), cpu;

	if (ret)
		return ret;
	cpu = report_cpu(&known);
	ret = cpu < 0 ? 1 : trigger_count(&reporter->counters, cpu, report_latency_ns(&known));
	return ret > 0 ? report_pass(reporter->prog_fd, &known) : ret;
}
