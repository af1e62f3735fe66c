// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
/* Valid reports, and the system call's arguments. */
#include "trigger/trigger.h"

#include <errno.h>
#include <linux/bpf.h>
#include <sched.h>
#include <stdarg.h>
#include <string.h>
#include <sys/syscall.h>

#include "bpf/trigger.skel.h"
#include "test.h"

static union bpf_attr seen;
static struct trigger_report args;
static int calls;

/* The system call, whose result is that of the BPF program. */
long __wrap_syscall(long number, ...)
{
	va_list list;

	assert_int_equal(number, SYS_bpf);
	va_start(list, number);
	assert_int_equal(va_arg(list, int), BPF_PROG_TEST_RUN);
	memcpy(&seen, va_arg(list, union bpf_attr *), sizeof(seen));
	va_end(list);
	assert_int_equal(seen.test.ctx_size_in, sizeof(args));
	memcpy(&args, (void *)(uintptr_t)seen.test.ctx_in, sizeof(args));
	calls++;
	errno = EPERM;
	return seen.test.prog_fd == 99 ? -1 : 0;
}

/* To a session that is armed and takes any latency. */
static int pass(int prog_fd, const struct perf_poke_report *report)
{
	static struct trigger_cpu rows[CPU_SETSIZE];
	const struct trigger_bpf__data_arming arming = { .armed = 1 };
	const struct reporter reporter = { prog_fd, { rows, CPU_SETSIZE, .arming = &arming } };

	for (int i = 0; i < CPU_SETSIZE; i++)
		rows[i].watched = TRIGGER_WATCHED;
	return report_count(&reporter, report);
}

TEST(refuses_what_is_malformed)
{
	struct {
		struct perf_poke_report report;
		uint64_t later;
	} longer = { { .sz = sizeof(longer), .expected_ns = 1, .cpu = -1 }, 1 };
	const struct perf_poke_report bad[] = {
		{ .expected_ns = 1 },
		{ .sz = offsetof(struct perf_poke_report, label) - 1, .expected_ns = 1 },
		{ .sz = sizeof(bad[0]) },
		{ .sz = sizeof(bad[0]), .expected_ns = 1, .cpu = -2 },
		{ .sz = sizeof(bad[0]), .expected_ns = 1, .tid = -2 },
	};

	calls = 0;
	assert_int_equal(pass(3, NULL), -EINVAL);
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		assert_int_equal(pass(3, &bad[i]), -EINVAL);
	assert_int_equal(pass(3, &longer.report), -EINVAL);
	assert_int_equal(calls, 0);
	longer.later = 0;
	assert_int_equal(pass(3, &longer.report), 0);
	assert_int_equal(calls, 1);
}

TEST(passes_all_on)
{
	struct perf_poke_report report = {
		.sz = sizeof(report),
		.expected_ns = 5,
		.actual_ns = 9,
		.tid = 77,
		.cpu = 3,
		.label = "012345678901234567890123456789012345678901234567890123456789012more",
	};

	errno = ENOTTY;
	assert_int_equal(pass(4, &report), 0);
	assert_int_equal(errno, ENOTTY);
	assert_int_equal(seen.test.prog_fd, 4);
	assert_int_equal(seen.test.flags, BPF_F_TEST_RUN_ON_CPU);
	assert_int_equal(seen.test.cpu, 3);
	assert_int_equal(args.expected_ns, 5);
	assert_int_equal(args.actual_ns, 9);
	assert_int_equal(args.tid, 77);
	assert_string_equal(args.label,
			    "012345678901234567890123456789012345678901234567890123456789012");
	/* On another CPU the program would find a bystander. */
	report.tid = 0;
	report.cpu = CPU_SETSIZE - 1;
	assert_int_equal(pass(4, &report), 0);
	assert_int_equal(args.tid, UINT64_MAX);
	report.cpu = -1;
	assert_int_equal(pass(4, &report), 0);
	assert_int_equal(args.tid, 0);
	report.sz = offsetof(struct perf_poke_report, label);
	assert_int_equal(pass(4, &report), 0);
	assert_int_equal(seen.test.flags, 0);
	assert_string_equal(args.label, "");
	assert_int_equal(pass(99, &report), -EPERM);
	assert_int_equal(errno, ENOTTY);
}

TEST(makes_no_system_call_without_a_capture)
{
	static struct trigger_cpu rows[2];
	struct trigger_bpf__data_arming arming = { .armed = 1 };
	const struct reporter reporter = { 4, { rows, 2, .arming = &arming } };
	struct perf_poke_report report = {
		.sz = sizeof(report), .expected_ns = 5, .actual_ns = 9, .cpu = 1
	};

	rows[1].watched = TRIGGER_WATCHED;
	rows[1].threshold_ns = 5;
	calls = 0;
	assert_int_equal(report_count(&reporter, &report), 0);
	assert_int_equal(rows[1].last_ns, 4);
	report.cpu = 2;
	assert_int_equal(report_count(&reporter, &report), -ENXIO);
	report.cpu = 1;
	report.actual_ns++;
	arming.armed = 0;
	assert_int_equal(report_count(&reporter, &report), 0);
	assert_int_equal(rows[1].unarmed, 1);
	assert_int_equal(calls, 0);
	arming.armed = 1;
	assert_int_equal(report_count(&reporter, &report), 0);
	assert_int_equal(calls, 1);
	assert_int_equal(rows[1].count, 2);
}
