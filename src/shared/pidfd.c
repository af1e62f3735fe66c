// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
#include "pidfd.h"

#include <errno.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

/* P_PIDFD; glibc defines it from 2.36 on. */
#define BY_PIDFD ((idtype_t)3)
/* The bit that WCOREDUMP() tests. */
#define CORE_DUMPED 0x80

int pidfd_of(pid_t pid)
{
	int fd = (int)syscall(SYS_pidfd_open, pid, 0);

	return fd < 0 ? -errno : fd;
}

int pidfd_signal(int pidfd, int signal)
{
	return syscall(SYS_pidfd_send_signal, pidfd, signal, NULL, 0) ? -errno : 0;
}

int pidfd_wait(int pidfd, int *status, int options)
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

int pid_wait(pid_t pid, int *status)
{
	while (waitpid(pid, status, 0) < 0) {
		if (errno != EINTR)
			return -errno;
	}
	return 0;
}
