// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
/* A target is identified by PID when the session starts, and no other process is ever signalled. */
#include "delivery/delivery.h"

#include <signal.h>
#include <string.h>
#include <sys/syscall.h>

#include "task.h"
#include "text.h"
#include "trigger/trigger.h"

/* The pidfd is opened first: if the process is still alive after everything was read, the PID was
 * not reused. */
static int target_open_pidfd(struct target *target)
{
	char text[32];
	int err = task_read_status(target->tid, "Tgid", text, sizeof(text));

	if (err)
		return err;
	target->tgid = atoi(text);
	target->pidfd = pidfd_open_process(target->tgid);
	if (target->pidfd >= 0)
		return 0;
	/* -EINVAL: the PID is now a thread's. */
	return target->pidfd == -EINVAL ? -ESRCH : target->pidfd;
}

/* Reads the task first, so that a later exec or change of handlers is noticed. */
static int target_identify(struct target *target, uint64_t *caught)
{
	char text[32];
	int err;

	err = trigger_find_task(target->tid, &target->task);
	if (!err)
		err = task_read_status(target->tid, "Name", target->comm, sizeof(target->comm));
	if (!err)
		err = task_read_status(target->tid, "SigCgt", text, sizeof(text));
	if (err)
		return err;
	utf8_repair_text(target->comm);
	*caught = strtoull(text, NULL, 16);
	err = task_read_status(target->tid, "Tgid", text, sizeof(text));
	if (!err && atoi(text) != target->tgid)
		err = -ESRCH;
	return err ? err : pidfd_signal(target->pidfd, 0);
}

static int target_check(const struct target *target, uint64_t caught, bool any_process,
			const struct log *log)
{
	int signal = target->task.signal;
	const char *name = sigabbrev_np(signal), *base;
	char path[64], program[256];
	ssize_t len;

	/* Compares the names of task and program: perf, perf_6.1, perf-6.12 and the like. */
	if (!any_process && strncmp(target->comm, "perf", 4)) {
		snprintf(path, sizeof(path), "/proc/%d/exe", target->tid);
		len = readlink(path, program, sizeof(program) - 1);
		program[len < 0 ? 0 : len] = '\0';
		base = strrchr(program, '/');
		if (!base || strncmp(base + 1, "perf", 4))
			return log_error(log, -EINVAL,
					 "target %d: is %s, which does not look like perf: needs "
					 "--any-process",
					 target->tid, target->comm);
	}
	if (caught >> (signal - 1) & 1)
		return 0;
	return log_error(
		log, -EINVAL,
		"target %d: %s does not catch the signal %d (SIG%s), which would end it or "
		"be lost: start it so that it does (perf record with -S or "
		"--switch-output=signal)",
		target->tid, target->comm, signal, name ? name : "?");
}

int target_open(struct target *target, const struct perf_poke_target *wanted, const struct log *log)
{
	uint64_t caught;
	int err;

	*target = (struct target){
		.tid = wanted->pid,
		.pidfd = -1,
		.task.signal = wanted->signal ? wanted->signal : SIGUSR2,
	};
	err = target_open_pidfd(target);
	if (!err)
		err = target_identify(target, &caught);
	if (err == -ESRCH && target->pidfd >= 0 && !pidfd_signal(target->pidfd, 0))
		log_error(log, err,
			  "target %d: is there, but not in the PID namespace of perf-poke",
			  target->tid);
	else if (err == -ESRCH)
		log_error(log, err, "target %d: no such process", target->tid);
	else if (err)
		log_error(log, err, "target %d: cannot be found: %s", target->tid, strerror(-err));
	else
		err = target_check(target, caught, wanted->any_process, log);
	if (err)
		target_close(target);
	return err;
}

int target_signal(const struct target *target)
{
	/* A thread of a process that was alive just before: neither ID was reused. */
	if (target->tid != target->tgid) {
		int err = pidfd_signal(target->pidfd, 0);

		if (!err && syscall(SYS_tgkill, target->tgid, target->tid, target->task.signal))
			err = -errno;
		return err;
	}
	return pidfd_signal(target->pidfd, target->task.signal);
}

void target_close(struct target *target)
{
	closep(&target->pidfd);
	target->pidfd = -1;
}
