// SPDX-License-Identifier: GPL-2.0-only
#include "session/session_internal.h"

#include <signal.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>

#include "array.h"
#include "json_util.h"
#include "task.h"
#include "text.h"

#define WORKER_NICE 10

static void cause_worker_close_files(struct cause_worker *worker)
{
	closep(&worker->output);
	closep(&worker->errors);
}

static int cause_worker_spawn(struct errand *errand)
{
	struct cause_worker *worker = errand->ctx;
	const char *argv[7] = { "perf-poke-ctl", "causes", "--json" };
	size_t nr = 3;
	pid_t pid;
	int err;

	argv[nr++] = worker->judged;
	if (worker->known) {
		argv[nr++] = "--known";
		argv[nr++] = worker->known;
	}
	worker->output = memfd_create("causes", MFD_CLOEXEC);
	worker->errors = memfd_create("errors", MFD_CLOEXEC);
	err = worker->output < 0 || worker->errors < 0
		      ? -errno
		      : spawn_process_group("/proc/self/exe", (char *const *)argv, environ, -1,
					    worker->output, worker->errors, &pid);
	if (err) {
		cause_worker_close_files(worker);
		return err;
	}
	/* Decoding must not hold up what the user runs. */
	setpriority(PRIO_PROCESS, (id_t)pid, WORKER_NICE);
	worker->started = pidfd_open_process(pid);
	if (worker->started >= 0)
		return 0;
	cause_worker_close_files(worker);
	kill(pid, SIGKILL);
	pid_wait_for_exit(pid, NULL);
	return worker->started;
}

static void cause_worker_take(struct errand *errand)
{
	struct cause_worker *worker = errand->ctx;

	worker->starting = false;
	if (!errand->err)
		worker->pidfd = worker->started;
}

bool cause_worker_is_busy(const struct cause_worker *worker)
{
	return worker->starting || worker->pidfd >= 0;
}

static void cause_worker_start(struct cause_worker *worker)
{
	if (!worker->nr || cause_worker_is_busy(worker))
		return;
	worker->start = (struct errand){
		.run = cause_worker_spawn,
		.done = cause_worker_take,
		.ctx = worker,
	};
	worker->judged = worker->paths[0];
	worker->starting = true;
	errands_add(worker->errands, &worker->start);
}

int cause_worker_add(struct cause_worker *worker, const char *path)
{
	if (array_grow(&worker->paths, worker->nr, sizeof(*worker->paths)))
		return -ENOMEM;
	worker->paths[worker->nr] = strdup(path);
	if (!worker->paths[worker->nr])
		return -ENOMEM;
	worker->nr++;
	cause_worker_start(worker);
	return 0;
}

/* Finds the object of type "cause" in the lines of --json. */
static json_object *read_cause_object(int fd)
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
static char *read_error_line(int fd)
{
	static const char program[] = "perf-poke-ctl: ";
	char text[512];
	ssize_t nr = pread(fd, text, sizeof(text) - 1, 0);

	if (nr <= 0)
		return NULL;
	text[nr] = '\0';
	text[strcspn(text, "\n")] = '\0';
	return strdup(text_make_printable(text) +
		      (has_prefix(text, program) ? strlen(program) : 0));
}

int cause_worker_next(struct cause_worker *worker, char **path, enum cause_verdict *verdict,
		      json_object **cause, char **why)
{
	int status, err = worker->starting ? 0 : worker->start.err;

	/* The capture is tried again with the next one. */
	if (err) {
		worker->start.err = 0;
		return err;
	}
	err = worker->pidfd < 0 ? -EAGAIN : pidfd_wait_for_exit(worker->pidfd, &status, WNOHANG);
	if (err <= 0)
		return err ?: -EAGAIN;
	closep(&worker->pidfd);
	*cause = read_cause_object(TAKE_FD(worker->output));
	*path = worker->paths[0];
	*verdict = CAUSE_VERDICT_UNJUDGED;
	if (WIFEXITED(status) && WEXITSTATUS(status) == EXIT_FINE)
		*verdict = CAUSE_VERDICT_KNOWN;
	else if (WIFEXITED(status) && WEXITSTATUS(status) == EXIT_NEW_CAUSE)
		*verdict = CAUSE_VERDICT_NEW;
	*why = *verdict == CAUSE_VERDICT_UNJUDGED ? read_error_line(worker->errors) : NULL;
	closep(&worker->errors);
	worker->nr--;
	memmove(worker->paths, worker->paths + 1, worker->nr * sizeof(*worker->paths));
	cause_worker_start(worker);
	return 0;
}

void cause_worker_release(struct cause_worker *worker)
{
	if (worker->pidfd >= 0)
		spawn_kill_process(worker->pidfd);
	closep(&worker->pidfd);
	cause_worker_close_files(worker);
	for (size_t i = 0; i < worker->nr; i++)
		free(worker->paths[i]);
	free(worker->paths);
	*worker = (struct cause_worker){ .pidfd = -1, .output = -1, .errors = -1 };
}
