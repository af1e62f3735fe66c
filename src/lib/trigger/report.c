// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
#include "trigger/report.h"

#include <errno.h>
#include <linux/bpf.h>
#include <stddef.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "bpf/trigger.h"
#include "sized_struct.h"

#define SIZE_MIN offsetof(struct perf_poke_report, label)

static int report_read(struct perf_poke_report *to, const struct perf_poke_report *from)
{
	int err = from ? sized_struct_read(to, sizeof(*to), from, from->sz, SIZE_MIN) : -EINVAL;

	if (err)
		return err;
	return !to->expected_ns || to->tid < 0 || to->cpu < -1 ? -EINVAL : 0;
}

/* Not libbpf's function: that one does not promise to be async-signal-safe. */
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

int report_send(int prog_fd, const struct perf_poke_report *report)
{
	struct perf_poke_report known;
	struct trigger_report args = {};
	int err = report_read(&known, report);

	if (err)
		return err;
	args.expected_ns = known.expected_ns;
	args.actual_ns = known.actual_ns;
	args.tid = (__u64)known.tid;
	for (size_t i = 0; known.label && known.label[i] && i < sizeof(args.label) - 1; i++)
		args.label[i] = known.label[i];
	return report_run(prog_fd, &args, known.cpu);
}
