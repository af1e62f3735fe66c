/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/* Tasks, and processes by pidfd: unlike a PID, a pidfd is never reused. */
#ifndef SHARED_TASK_H
#define SHARED_TASK_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

/* Returns the descriptor, or a negative errno. */
int pidfd_open_process(pid_t pid);

/* Returns 0 or a negative errno. */
int pidfd_signal(int pidfd, int signal);

/* Waits for a child, even without SIGCHLD (__WALL). *status is that of waitpid(). Returns 1, 0 with
 * WNOHANG while the child runs, or a negative errno. */
int pidfd_wait_for_exit(int pidfd, int *status, int options);

/* waitpid() that restarts on EINTR. status may be NULL. Returns 0 or a negative errno. */
int pid_wait_for_exit(pid_t pid, int *status);

/* With its 0. */
#define TASK_COMM_SIZE 16

/* Whether the PIDs of BPF and perf are those of /proc: not in a PID namespace of one's own. */
bool pids_are_global(void);

/* Reads /proc/TID/comm. Returns 0 or a negative errno. */
int task_read_comm(int tid, char comm[TASK_COMM_SIZE]);

/* Reads a field of /proc/TID/status. Returns 0, -ESRCH without task or field, or another negative
 * errno. */
int task_read_status(int tid, const char *field, char *value, size_t size);

/* Such as `stress/812`, `stress/812, thread 815` or `idle`. Returns buf. */
const char *task_format_name(char *buf, size_t size, bool idle, const char *comm, int pid, int tid);

/* Traces name a task by its comm and, where it is known, a space and its TID. Returns the length
 * of the comm; *tid is 0 without one. tid may be NULL. */
size_t task_name_comm_length(const char *name, int *tid);

#endif
