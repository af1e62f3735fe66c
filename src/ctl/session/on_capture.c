// SPDX-License-Identifier: GPL-2.0-only
#include "session/on_capture.h"

#include <signal.h>
#include <spawn.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>

#include "array.h"
#include "cli/cli.h"
#include "clock.h"
#include "io.h"
#include "session/spawn.h"
#include "task.h"

void on_capture_init(struct on_capture *o, const char *command)
{
	*o = (struct on_capture){ .command = command };
	for (size_t i = 0; i < ON_CAPTURE_AT_ONCE; i++)
		o->runs[i].pidfd = -1;
}

static void release_job(struct on_capture_job *job)
{
	words_freep(&job->environment);
	free(job->input);
	free(job->capture);
	*job = (struct on_capture_job){ 0 };
}

/* The session's environment and the job's. Strings are not copied. */
static char **join_environment(char **more)
{
	size_t nr = 0, nr_more = 0;
	char **all;

	while (environ[nr])
		nr++;
	while (more[nr_more])
		nr_more++;
	all = calloc(nr + nr_more + 1, sizeof(*all));
	if (!all)
		return NULL;
	/* getenv() finds the first of equal names. */
	memcpy(all, more, nr_more * sizeof(*all));
	memcpy(all + nr_more, environ, nr * sizeof(*all));
	return all;
}

/* A file, so that a command that does not read its input cannot block the session. */
static int open_input(const char *text)
{
	_cleanup_close_ int fd = memfd_create("capture", MFD_CLOEXEC);
	int r = fd < 0 ? -errno : write_all(fd, text, strlen(text));

	if (r)
		return r;
	return lseek(fd, 0, SEEK_SET) < 0 ? -errno : TAKE_FD(fd);
}

static int begin(struct on_capture *o, struct on_capture_run *run)
{
	char *const argv[] = { "sh", "-c", (char *)o->command, NULL };
	_cleanup_free_ char **environment = join_environment(run->job.environment);
	_cleanup_close_ int input = open_input(run->job.input);
	int r;

	if (!environment)
		return -ENOMEM;
	if (input < 0)
		return input;
	/* Standard output is for the session's results. */
	r = spawn_group("/bin/sh", argv, environment, input, STDERR_FILENO, STDERR_FILENO,
			&run->pid);
	if (r)
		return r;
	run->end_ns = clock_ns(CLOCK_MONOTONIC) + ON_CAPTURE_NS;
	run->late = false;
	run->pidfd = pidfd_of(run->pid);
	if (run->pidfd >= 0)
		return 0;
	r = run->pidfd;
	run->pidfd = -1;
	kill(-run->pid, SIGKILL);
	pid_wait(run->pid, NULL);
	return r;
}

static void warn(struct on_capture *o, struct console *con, const char *capture, const char *what,
		 int number)
{
	char suffix[16] = "";

	if (number)
		snprintf(suffix, sizeof(suffix), " %d", number);
	o->failed++;
	console_warn(con, "--on-capture: %s%s for '%s'", what, suffix, capture);
}

static void take_end(struct on_capture *o, struct console *con, struct on_capture_run *run)
{
	const char *capture = run->job.capture;
	int status = 0;

	/* Includes processes it left running. Its PID stays reserved until it is reaped. */
	kill(-run->pid, SIGKILL);
	pidfd_wait(run->pidfd, &status, 0);
	closep(&run->pidfd);
	if (run->late)
		warn(o, con, capture, "killed after 60 s", 0);
	else if (WIFSIGNALED(status))
		warn(o, con, capture, "killed by signal", WTERMSIG(status));
	else if (WEXITSTATUS(status))
		warn(o, con, capture, "exit code", WEXITSTATUS(status));
	release_job(&run->job);
}

static void handle_run(struct on_capture *o, struct console *con, struct on_capture_run *run)
{
	int status;

	if (run->pidfd < 0)
		return;
	if (pidfd_wait(run->pidfd, &status, WNOHANG | WNOWAIT) > 0) {
		take_end(o, con, run);
	} else if (!run->late && clock_ns(CLOCK_MONOTONIC) >= run->end_ns) {
		/* A file system that hangs keeps it alive. */
		kill(-run->pid, SIGKILL);
		run->late = true;
		run->end_ns = UINT64_MAX;
	}
}

/* Treats errors of the system like failures of the command. */
static void begin_next(struct on_capture *o, struct console *con, struct on_capture_run *run)
{
	int r;

	if (run->pidfd >= 0 || !o->nr)
		return;
	run->job = o->waiting[0];
	o->nr--;
	memmove(o->waiting, o->waiting + 1, o->nr * sizeof(*o->waiting));
	r = begin(o, run);
	if (!r)
		return;
	warn(o, con, run->job.capture, strerror(-r), 0);
	release_job(&run->job);
}

int on_capture_add(struct on_capture *o, struct console *con, struct on_capture_job *job)
{
	if (array_grow(&o->waiting, o->nr, sizeof(*job))) {
		release_job(job);
		return -ENOMEM;
	}
	o->waiting[o->nr++] = *job;
	on_capture_handle(o, con);
	return 0;
}

void on_capture_handle(struct on_capture *o, struct console *con)
{
	for (size_t i = 0; i < ON_CAPTURE_AT_ONCE; i++) {
		handle_run(o, con, &o->runs[i]);
		begin_next(o, con, &o->runs[i]);
	}
}

bool on_capture_is_busy(const struct on_capture *o)
{
	bool busy = o->nr;

	for (size_t i = 0; i < ON_CAPTURE_AT_ONCE; i++)
		busy |= o->runs[i].pidfd >= 0;
	return busy;
}

uint64_t on_capture_due(const struct on_capture *o)
{
	uint64_t due = UINT64_MAX;

	for (size_t i = 0; i < ON_CAPTURE_AT_ONCE; i++) {
		if (o->runs[i].pidfd >= 0 && o->runs[i].end_ns < due)
			due = o->runs[i].end_ns;
	}
	return due;
}

size_t on_capture_release(struct on_capture *o)
{
	size_t dropped = o->nr;

	for (size_t i = 0; i < ON_CAPTURE_AT_ONCE; i++) {
		struct on_capture_run *run = &o->runs[i];

		if (run->pidfd < 0)
			continue;
		kill(-run->pid, SIGKILL);
		spawn_kill(run->pidfd);
		closep(&run->pidfd);
		release_job(&run->job);
		dropped++;
	}
	for (size_t i = 0; i < o->nr; i++)
		release_job(&o->waiting[i]);
	free(o->waiting);
	on_capture_init(o, NULL);
	return dropped;
}
