/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/* Processes by descriptor: unlike a number, it is never another's. */
#ifndef SHARED_PIDFD_H
#define SHARED_PIDFD_H

#include <sys/types.h>

/* Returns the descriptor, or a negative errno. */
int pidfd_of(pid_t pid);

/* Returns 0 or a negative errno. */
int pidfd_signal(int pidfd, int signal);

/* Waits for a child, also for one that sends no SIGCHLD when it ends. *status is as of waitpid().
 * Returns 1; 0 if it has not ended, with WNOHANG; or a negative errno. */
int pidfd_wait(int pidfd, int *status, int options);

/* waitpid() of one child, despite signals. status may be NULL. Returns 0 or a negative errno. */
int pid_wait(pid_t pid, int *status);

#endif
