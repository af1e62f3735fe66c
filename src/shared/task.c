// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
#include "task.h"

#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include "io.h"
#include "util.h"

/* P_PIDFD; glibc defines it from 2.36 on. */
#define BY_PIDFD ((idtype_t)3)
/* The bit that WCOREDUMP() tests. */
#define CORE_DUMPED 0x80

int pidfd_open_process(pid_t pid)
{
	int fd = (int)syscall(SYS_pidfd_open, pid, 0);

	return fd < 0 ? -errno : fd;
}

int pidfd_signal(int pidfd, int signal)
{
	return syscall(SYS_pidfd_send_signal, pidfd, signal, NULL, 0) ? -errno : 0;
}

int pidfd_wait_for_exit(int pidfd, int *status, int options)
{
	siginfo_t info = { 0 };

	while (waitid(BY_PIDFD, (id_t)pidfd, &info, WEXITED | __WALL | options)) {
		if (errno != EINTR)
			return -errno;
	}
	if (!info.si_pid)
		return 0;
	if (info.si_code == CLD_EXITED)
		*status = W_EXITCODE(info.si_status, 0);
	else
		*status = info.si_status | (info.si_code == CLD_DUMPED ? CORE_DUMPED : 0);
	return 1;
}

int pid_wait_for_exit(pid_t pid, int *status)
{
	while (waitpid(pid, status, 0) < 0) {
		if (errno != EINTR)
			return -errno;
	}
	return 0;
}

/* PROC_PID_INIT_INO of the kernel (include/linux/proc_ns.h), never another's */
#define FIRST_NAMESPACE 0xeffffffcu

bool pids_are_global(void)
{
	struct stat st;

	return stat("/proc/self/ns/pid", &st) || st.st_ino == FIRST_NAMESPACE;
}

int task_read_comm(int tid, char comm[TASK_COMM_SIZE])
{
	char path[64];

	snprintf(path, sizeof(path), "/proc/%d/comm", tid);
	return read_text_at(AT_FDCWD, path, comm, TASK_COMM_SIZE);
}

int task_read_status(int tid, const char *field, char *value, size_t size)
{
	_cleanup_fclose_ FILE *file = NULL;
	_cleanup_free_ char *line = NULL;
	size_t line_size = 0, len = strlen(field);
	char path[64];

	snprintf(path, sizeof(path), "/proc/%d/status", tid);
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

const char *task_format_name(char *buf, size_t size, bool idle, const char *comm, int pid, int tid)
{
	if (idle)
		snprintf(buf, size, "idle");
	else if (tid == pid)
		snprintf(buf, size, "%s/%d", comm, pid);
	else
		snprintf(buf, size, "%s/%d, thread %d", comm, pid, tid);
	return buf;
}

size_t task_name_comm_length(const char *name, int *tid)
{
	const char *space = strrchr(name, ' ');
	bool numbered = space && space[1] && !space[1 + strspn(space + 1, "0123456789")];

	if (tid)
		*tid = numbered ? atoi(space + 1) : 0;
	return numbered ? (size_t)(space - name) : strlen(name);
}
