// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
/* A target ends while it is looked up, and another process reuses its PID. The system calls that
 * describe the two are replaced at link time. */
#include "delivery/delivery.h"

#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/syscall.h>

#include "messages.h"
#include "test.h"

#define PID 100
#define THREAD 101

/* Calls until the first process ends, and calls so far. */
static unsigned int ends_after, nr_looks;
static const char *caught[2]; /* of the first process, and of the second */
static unsigned int opened;   /* which of them the pidfd is of */

static unsigned int look(void)
{
	return nr_looks++ >= ends_after;
}

FILE *__wrap_fopen(const char *path, const char *mode)
{
	static char status[2][100];
	unsigned int now = look();
	int pid;

	assert_int_equal(sscanf(path, "/proc/%d/status", &pid), 1);
	snprintf(status[now], sizeof(status[now]), "Name:\tperf\nTgid:\t%d\nSigCgt:\t%s\n", PID,
		 caught[now]);
	return fmemopen(status[now], strlen(status[now]), "r");
}

FILE *__wrap_fopen64(const char *path, const char *mode) __attribute__((alias("__wrap_fopen")));

long __wrap_syscall(long number, ...)
{
	unsigned int now = look();

	if (number == SYS_pidfd_open) {
		opened = now;
		return eventfd(0, EFD_CLOEXEC);
	}
	assert_int_equal(number, SYS_pidfd_send_signal);
	if (opened == now)
		return 0;
	errno = ESRCH;
	return -1;
}

int __wrap_trigger_find_task(int pid, struct poke_target *task)
{
	task->tid = pid;
	task->start_ns = look();
	return 0;
}

static int open_target(int pid, unsigned int after, struct target *target)
{
	const struct perf_poke_target wanted = { .pid = pid };
	struct messages messages = {};
	const struct log log = { messages_add, &messages };
	int err;

	nr_looks = 0;
	ends_after = after;
	err = target_open(target, &wanted, &log);
	assert_int_equal(messages.nr, !!err);
	return err;
}

/* Either process may be taken, but its facts must be its own. */
TEST(is_one_process)
{
	static const int pids[] = { PID, THREAD };
	static const char *const masks[] = { "0000000000000800", "0000000000000000" };
	struct target target;

	for (unsigned int n = 0; n < 8; n++) {
		int pid = pids[n & 1];
		unsigned int after = 0;

		caught[0] = masks[n >> 1 & 1];
		caught[1] = masks[n >> 2 & 1];
		do {
			int err = open_target(pid, after, &target);

			if (err)
				continue;
			assert_int_equal(target.tid, pid);
			assert_int_equal(target.tgid, PID);
			assert_int_equal(target.task.start_ns, opened);
			assert_string_equal(caught[opened], masks[0]);
			target_close(&target);
		} while (nr_looks > after++);
	}
}

TEST(catches_the_signal)
{
	struct target target;

	caught[0] = "0000000000000800";
	assert_int_equal(open_target(PID, UINT_MAX, &target), 0);
	assert_int_equal(target.task.signal, SIGUSR2);
	assert_string_equal(target.comm, "perf");
	target_close(&target);
	caught[0] = "fffffffffffff7ff";
	assert_int_equal(open_target(PID, UINT_MAX, &target), -EINVAL);
}
