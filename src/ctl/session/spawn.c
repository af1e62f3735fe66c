// SPDX-License-Identifier: GPL-2.0-only
#include "session/spawn.h"

#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>

#include "task.h"

#define KILL_MS 1000

static int set_attributes(posix_spawnattr_t *attr)
{
	static const int signals[] = { SIGHUP, SIGPIPE };
	sigset_t none, defaults;
	int r = posix_spawnattr_setflags(attr, POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETPGROUP |
						       POSIX_SPAWN_SETSIGDEF);

	sigemptyset(&none);
	sigemptyset(&defaults);
	for (size_t i = 0; i < ARRAY_SIZE(signals); i++)
		sigaddset(&defaults, signals[i]);
	r = r ?: posix_spawnattr_setsigmask(attr, &none);
	r = r ?: posix_spawnattr_setsigdefault(attr, &defaults);
	return r ?: posix_spawnattr_setpgroup(attr, 0);
}

static int set_stream(posix_spawn_file_actions_t *actions, int fd, int stream)
{
	return fd < 0 ? posix_spawn_file_actions_addopen(actions, stream, "/dev/null", O_RDWR, 0)
		      : posix_spawn_file_actions_adddup2(actions, fd, stream);
}

int spawn_group(const char *path, char *const argv[], char *const environment[], int in, int out,
		int err, pid_t *pid)
{
	posix_spawn_file_actions_t actions;
	posix_spawnattr_t attr;
	int r = posix_spawn_file_actions_init(&actions);

	if (r)
		return -r;
	r = posix_spawnattr_init(&attr);
	if (r) {
		posix_spawn_file_actions_destroy(&actions);
		return -r;
	}
	r = set_stream(&actions, in, STDIN_FILENO);
	r = r ?: set_stream(&actions, out, STDOUT_FILENO);
	r = r ?: set_stream(&actions, err, STDERR_FILENO);
	r = r ?: set_attributes(&attr);
	r = r ?: posix_spawn(pid, path, &actions, &attr, argv, environment);
	posix_spawnattr_destroy(&attr);
	posix_spawn_file_actions_destroy(&actions);
	return -r;
}

void spawn_kill(int pidfd)
{
	struct pollfd ended = { .fd = pidfd, .events = POLLIN };
	int status;

	pidfd_signal(pidfd, SIGKILL);
	while (poll(&ended, 1, KILL_MS) < 0 && errno == EINTR)
		;
	pidfd_wait(pidfd, &status, WNOHANG);
}
