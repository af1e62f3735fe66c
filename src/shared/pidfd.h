/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/* Processes by pidfd: unlike a PID, a pidfd is never reused. */
#ifndef SHARED_PIDFD_H
#define SHARED_PIDFD_H

#include <sys/types.h>

/* Returns the descriptor, or a negative errno. */
int pidfd_of(pid_t pid);

/* Returns 0 or a negative errno. */
int pidfd_signal(int pidfd, int signal);

/* Waits for a child, even without SIGCHLD (__WALL). *status is that of waitpid(). Returns 1, 0 with
 * WNOHANG while the child runs, or a negative errno. */
int pidfd_wait(int pidfd, int *status, int options);

/* waitpid() that restarts on EINTR. status may be NULL. Returns 0 or a negative errno. */
int pid_wait(pid_t pid, int *status);

#endif
