// SPDX-License-Identifier: GPL-2.0-only
#include "session/sieve.h"

#include <signal.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>

#include "array.h"
#include "cli/cli.h"
#include "json_file.h"
#include "session/spawn.h"
#include "task.h"
#include "text.h"

static int spawn(const struct sieve *sieve, pid_t *pid)
{
	const struct sieve_opts *opts = &sieve->opts;
	const char *argv[7] = { "perf-poke-ctl", "causes", "--json", sieve->paths[0] };
	size_t nr = 4;

	if (opts->known) {
		argv[nr++] = "--known";
		argv[nr++] = opts->known;
	}
	return spawn_group("/proc/self/exe", (char *const *)argv, environ, -1, sieve->output,
			   sieve->errors, pid);
}

static void close_files(struct sieve *sieve)
{
	closep(&sieve->output);
	closep(&sieve->errors);
}

static int begin(struct sieve *sieve)
{
	pid_t pid;
	int r;

	if (!sieve->nr || sieve->pidfd >= 0)
		return 0;
	sieve->output = memfd_create("causes", MFD_CLOEXEC);
	sieve->errors = memfd_create("errors", MFD_CLOEXEC);
	r = sieve->output < 0 || sieve->errors < 0 ? -errno : spawn(sieve, &pid);
	if (r) {
		close_files(sieve);
		return r;
	}
	sieve->pidfd = pidfd_of(pid);
	if (sieve->pidfd >= 0)
		return 0;
	r = sieve->pidfd;
	sieve->pidfd = -1;
	close_files(sieve);
	kill(pid, SIGKILL);
	pid_wait(pid, NULL);
	return r;
}

int sieve_add(struct sieve *sieve, const char *path)
{
	if (array_grow(&sieve->paths, sieve->nr, sizeof(*sieve->paths)))
		return -ENOMEM;
	sieve->paths[sieve->nr] = strdup(path);
	if (!sieve->paths[sieve->nr])
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

/* Finds the object of type "cause" in the lines of --json. */
static json_object *find_cause(int fd)
{
	FILE *file = fdopen(fd, "r");
	_cleanup_free_ char *line = NULL;
	json_object *found = NULL;
	size_t room = 0;

	if (!file) {
		close(fd);
		return NULL;
	}
	rewind(file);
	while (!found && getline(&line, &room, file) > 0) {
		found = json_tokener_parse(line);
		if (strcmp(json_text_of(found, "type"), "cause")) {
			json_object_put(found);
			found = NULL;
		}
	}
	fclose(file);
	return found;
}

/* The first line that the child wrote to its standard error, without the name of the program; NULL:
 * none. */
static char *read_error(int fd)
{
	static const char program[] = "perf-poke-ctl: ";
	char text[512];
	ssize_t nr = pread(fd, text, sizeof(text) - 1, 0);

	if (nr <= 0)
		return NULL;
	text[nr] = '\0';
	text[strcspn(text, "\n")] = '\0';
	return strdup(printable(text) + (has_prefix(text, program) ? strlen(program) : 0));
}

int sieve_next(struct sieve *sieve, char **path, enum sieve_verdict *verdict, json_object **cause,
	       char **why)
{
	int status, r = sieve->pidfd < 0 ? -EAGAIN : pidfd_wait(sieve->pidfd, &status, WNOHANG);

	if (r <= 0)
		return r ?: -EAGAIN;
	closep(&sieve->pidfd);
	*cause = find_cause(TAKE_FD(sieve->output));
	*path = sieve->paths[0];
	*verdict = verdict_of(status);
	*why = *verdict == SIEVE_UNJUDGED ? read_error(sieve->errors) : NULL;
	closep(&sieve->errors);
	sieve->nr--;
	memmove(sieve->paths, sieve->paths + 1, sieve->nr * sizeof(*sieve->paths));
	return begin(sieve);
}

void sieve_release(struct sieve *sieve)
{
	if (sieve->pidfd >= 0)
		spawn_kill(sieve->pidfd);
	closep(&sieve->pidfd);
	close_files(sieve);
	for (size_t i = 0; i < sieve->nr; i++)
		free(sieve->paths[i]);
	free(sieve->paths);
	*sieve = (struct sieve){ .pidfd = -1, .output = -1, .errors = -1 };
}
