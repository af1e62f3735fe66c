// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
#include "target.h"

#include <fcntl.h>
#include <inttypes.h>
#include <signal.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>

#include <bpf/bpf.h>
#include <bpf/libbpf.h>

#include "bpf/target.skel.h"
#include "utf8.h"

/* Reading an iterator runs its program for each task of our pid namespace. */
static int run_iterator(struct target_bpf *skel)
{
	struct bpf_link *link = bpf_program__attach_iter(skel->progs.target_find, NULL);
	_cleanup_close_ int fd = -1;
	char none[16];
	ssize_t len;

	if (!link)
		return -errno;
	fd = bpf_iter_create(bpf_link__fd(link));
	len = fd < 0 ? -1 : read(fd, none, sizeof(none));
	bpf_link__destroy(link);
	return len < 0 ? -errno : 0;
}

int target_find(int pid, struct poke_target *task)
{
	struct target_bpf *skel;
	struct stat namespace;
	int err;

	if (stat("/proc/self/ns/pid", &namespace))
		return -errno;
	skel = target_bpf__open();
	if (!skel)
		return -errno;
	skel->rodata->wanted = pid;
	skel->rodata->namespace = namespace.st_ino;
	err = target_bpf__load(skel);
	if (!err)
		err = run_iterator(skel);
	if (!err && !skel->bss->tid)
		err = -ESRCH;
	if (!err) {
		task->tgid = skel->bss->tgid;
		task->tid = skel->bss->tid;
		task->start_ns = skel->bss->start_ns;
		task->task = skel->bss->address;
		task->exec_id = skel->bss->exec_id;
	}
	target_bpf__destroy(skel);
	return err;
}

/* The text of a field of /proc/PID/status. */
static int read_status(int pid, const char *field, char *value, size_t size)
{
	_cleanup_fclose_ FILE *file = NULL;
	_cleanup_free_ char *line = NULL;
	size_t line_size = 0, len = strlen(field);
	char path[64];

	snprintf(path, sizeof(path), "/proc/%d/status", pid);
	file = fopen(path, "re");
	if (!file)
		return errno == ENOENT ? -ESRCH : -errno;
	while (getline(&line, &line_size, file) > 0) {
		if (strncmp(line, field, len) || line[len] != ':')
			continue;
		line[strcspn(line, "\n")] = '\0';
		snprintf(value, size, "%s", line + len + 1 + strspn(line + len + 1, " \t"));
		return 0;
	}
	return -ESRCH;
}

/* By its name or its program's: perf is installed as perf, perf_6.1, perf-6.12 and the like. */
static bool is_perf(const struct target *target)
{
	char path[64], program[256];
	const char *base;
	ssize_t len;

	if (!strncmp(target->comm, "perf", 4))
		return true;
	snprintf(path, sizeof(path), "/proc/%d/exe", target->tid);
	len = readlink(path, program, sizeof(program) - 1);
	program[len < 0 ? 0 : len] = '\0';
	base = strrchr(program, '/');
	return base && !strncmp(base + 1, "perf", 4);
}

static int check_signal(const struct target *target, const struct log *log)
{
	int signal = target->task.signal;
	const char *name = sigabbrev_np(signal);
	uint64_t caught;
	char text[32];
	int err;

	err = read_status(target->tid, "SigCgt", text, sizeof(text));
	if (err)
		return err;
	caught = strtoull(text, NULL, 16);
	if (caught >> (signal - 1) & 1)
		return 0;
	return log_error(
		log, -EINVAL,
		"target %d: %s does not catch the signal %d (SIG%s), which would end it or "
		"be lost: start it so that it does (perf record with -S or "
		"--switch-output=signal)",
		target->tid, target->comm, signal, name ? name : "?");
}

/* The descriptor is held from before all else is read: if the process is alive at the end, so it
 * was all the time, and its number was its own. */
static int target_open_pidfd(struct target *target)
{
	char text[32];
	int err = read_status(target->tid, "Tgid", text, sizeof(text));

	if (err)
		return err;
	target->tgid = atoi(text);
	target->pidfd = syscall(SYS_pidfd_open, target->tgid, 0);
	if (target->pidfd >= 0)
		return 0;
	/* EINVAL: by now it is the number of a thread. */
	return errno == EINVAL ? -ESRCH : -errno;
}

/* The task before what it runs and catches: an exec or a change from then on is noticed. */
static int target_identify(struct target *target)
{
	char text[32];
	int err;

	err = target_find(target->tid, &target->task);
	if (!err)
		err = read_status(target->tid, "Name", target->comm, sizeof(target->comm));
	if (!err)
		err = read_status(target->tid, "Tgid", text, sizeof(text));
	if (!err && atoi(text) != target->tgid)
		err = -ESRCH;
	utf8_repair(target->comm);
	return err;
}

static int target_check(const struct target *target, bool any_process, const struct log *log)
{
	if (!any_process && !is_perf(target))
		return log_error(
			log, -EINVAL,
			"target %d: is %s, which does not look like perf: needs any-process",
			target->tid, target->comm);
	return check_signal(target, log);
}

int target_open(struct target *target, const struct perf_poke_target *wanted, const struct log *log)
{
	int err;

	*target = (struct target){
		.tid = wanted->pid,
		.pidfd = -1,
		.task.signal = wanted->signal ? wanted->signal : SIGUSR2,
	};
	err = target_open_pidfd(target);
	if (!err)
		err = target_identify(target);
	if (!err)
		err = target_check(target, wanted->any_process, log);
	if (!err && syscall(SYS_pidfd_send_signal, target->pidfd, 0, NULL, 0))
		err = -errno;
	if (!err)
		return 0;
	target_close(target);
	if (err == -EINVAL)
		return err;
	if (err == -ESRCH)
		return log_error(log, err, "target %d: there is no such process", target->tid);
	return log_error(log, err, "target %d: cannot be found: %s", target->tid, strerror(-err));
}

int target_signal(const struct target *target)
{
	/* A thread by its number, within a process that was alive just before; the numbers of both
	 * cannot have become somebody else's in between. */
	if (target->tid != target->tgid) {
		if (syscall(SYS_pidfd_send_signal, target->pidfd, 0, NULL, 0) ||
		    syscall(SYS_tgkill, target->tgid, target->tid, target->task.signal))
			return -errno;
		return 0;
	}
	return syscall(SYS_pidfd_send_signal, target->pidfd, target->task.signal, NULL, 0) ? -errno
											   : 0;
}

void target_close(struct target *target)
{
	closep(&target->pidfd);
	target->pidfd = -1;
}
