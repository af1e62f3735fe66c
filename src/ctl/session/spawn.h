/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef CTL_SESSION_SPAWN_H
#define CTL_SESSION_SPAWN_H

#include <sys/types.h>

#include "util.h"

/* Starts a program in a process group of its own, with signals unblocked: Ctrl-C ends the session,
 * not the program. The kernel resets the scheduling policy. Streams of -1 are /dev/null. Returns 0
 * or a negative errno. */
int spawn_group(const char *path, char *const argv[], char *const environment[], int in, int out,
		int err, pid_t *pid) _must_check_;

/* Kills and reaps it, unless a file system that hangs keeps it alive for a second. */
void spawn_kill(int pidfd);

#endif
