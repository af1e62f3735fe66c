// SPDX-License-Identifier: GPL-2.0-only
#include "session/sieve.h"

#include <signal.h>
#include <spawn.h>
#include <string.h>
#include <sys/wait.h>

#include "cli/command.h"
#include "pidfd.h"

/* The session blocks its signals. The scheduling policy is reset on fork. */
static int set_attributes(posix_spawnattr_t *attr)
{
	sigset_t none;
	int r = posix_spawnattr_setflags(attr, POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETPGROUP);

	sigemptyset(&none);
	r = r ?: posix_spawnattr_setsigmask(attr, &none);
	/* Ctrl-C ends the session, which waits for verdicts. */
	return -(r ?: posix_spawnattr_setpgroup(attr, 0));
}

static int spawn(const char *known, const char *path, pid_t *pid)
{
	char *const argv[] = { "perf-poke-ctl", "causes",     "--json", "--known",
			       (char *)known,	(char *)path, NULL };
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
	for (int fd = 0; fd < 3 && !r; fd++)
		r = -posix_spawn_file_actions_addopen(&actions, fd, "/dev/null", O_RDWR, 0);
	if (!r)
		r = set_attributes(&attr);
	if (!r)
		r = -posix_spawn(pid, "/proc/self/exe", &actions, &attr, argv, environ);
	posix_spawnattr_destroy(&attr);
	posix_spawn_file_actions_destroy(&actions);
	return r;
}

static int begin(struct sieve *sieve)
{
	pid_t pid;
	int r;

	if (!sieve->nr || sieve->pidfd >= 0)
		return 0;
	r = spawn(sieve->known, sieve->paths[0], &pid);
	if (r)
		return r;
	sieve->pidfd = pidfd_of(pid);
	if (sieve->pidfd >= 0)
		return 0;
	r = sieve->pidfd;
	sieve->pidfd = -1;
	kill(pid, SIGKILL);
	pid_wait(pid, NULL);
	return r;
}

int sieve_add(struct sieve *sieve, const char *path)
{
	char **paths = reallocarray(sieve->paths, sieve->nr + 1, sizeof(*paths));

	if (!paths)
		return -ENOMEM;
	sieve->paths = paths;
	paths[sieve->nr] = strdup(path);
	if (!paths[sieve->nr])
		return -ENOMEM;
	sieve->nr++;
	return begin(sieve);
}

static enum sieve_verdict verdict_of(int status)
{
	if (!WIFEXITED(status))
		return SIEVE_UNJUDGED;
	switch (WEXITSTATUS(status)) {
	case EXIT_FINE:
		return SIEVE_KNOWN;
	case EXIT_NEW_CAUSE:
		return SIEVE_NEW;
	default:
		return SIEVE_UNJUDGED;
	}
}

int sieve_next(struct sieve *sieve, char **path, enum sieve_verdict *verdict)
{
	int status, r = sieve->pidfd < 0 ? -EAGAIN : pidfd_wait(sieve->pidfd, &status, WNOHANG);

	if (r <= 0)
		return r ?: -EAGAIN;
	closep(&sieve->pidfd);
	*path = sieve->paths[0];
	*verdict = verdict_of(status);
	sieve->nr--;
	memmove(sieve->paths, sieve->paths + 1, sieve->nr * sizeof(*sieve->paths));
	return begin(sieve);
}

void sieve_release(struct sieve *sieve)
{
	int status;

	if (sieve->pidfd >= 0) {
		pidfd_signal(sieve->pidfd, SIGKILL);
		pidfd_wait(sieve->pidfd, &status, 0);
	}
	closep(&sieve->pidfd);
	for (size_t i = 0; i < sieve->nr; i++)
		free(sieve->paths[i]);
	free(sieve->paths);
	*sieve = (struct sieve){ .pidfd = -1 };
}
