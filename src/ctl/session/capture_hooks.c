// SPDX-License-Identifier: GPL-2.0-only
#include "session/session_internal.h"

#include <fcntl.h>
#include <inttypes.h>
#include <signal.h>
#include <spawn.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>

#include "array.h"
#include "clock.h"
#include "io.h"
#include "json_util.h"
#include "task.h"

/* While more captures wait for their causes, spikes come faster than they can be read. */
#define WHY_WAITING_MAX 8

void hook_commands_init(struct hook_commands *commands, const char *command)
{
	*commands = (struct hook_commands){ .command = command };
	for (size_t i = 0; i < HOOK_COMMANDS_MAX; i++)
		commands->runs[i].pidfd = -1;
}

static void hook_job_release(struct hook_job *job)
{
	argv_free_words(&job->environment);
	free(job->input);
	free(job->capture);
	*job = (struct hook_job){ 0 };
}

/* The session's environment and the job's. Strings are not copied. */
static char **hook_join_environment(char **more)
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
static int hook_open_input(const char *text)
{
	_cleanup_close_ int fd = memfd_create("capture", MFD_CLOEXEC);
	int err = fd < 0 ? -errno : write_all(fd, text, strlen(text));

	if (err)
		return err;
	return lseek(fd, 0, SEEK_SET) < 0 ? -errno : TAKE_FD(fd);
}

static int hook_spawn_command(struct errand *errand)
{
	struct hook_run *run = errand->ctx;
	char *const argv[] = { "sh", "-c", (char *)run->commands->command, NULL };
	_cleanup_free_ char **environment = hook_join_environment(run->job.environment);
	_cleanup_close_ int input = hook_open_input(run->job.input);
	int err;

	if (!environment)
		return -ENOMEM;
	if (input < 0)
		return input;
	/* Standard output is for the session's results. */
	err = spawn_process_group("/bin/sh", argv, environment, input, STDERR_FILENO, STDERR_FILENO,
				  &run->pid);
	if (err)
		return err;
	run->started = pidfd_open_process(run->pid);
	if (run->started >= 0)
		return 0;
	kill(-run->pid, SIGKILL);
	pid_wait_for_exit(run->pid, NULL);
	return run->started;
}

static void hook_warn_failure(struct hook_commands *commands, struct console *con,
			      const char *capture, const char *what, int number)
{
	char suffix[16] = "";

	if (number)
		snprintf(suffix, sizeof(suffix), " %d", number);
	commands->failed++;
	console_warn(con, "--on-capture: %s%s for '%s'", what, suffix, capture);
}

static void hook_reap_command(struct hook_commands *commands, struct console *con,
			      struct hook_run *run)
{
	const char *capture = run->job.capture;
	int status = 0;

	/* Includes processes it left running. Its PID stays reserved until it is reaped. */
	kill(-run->pid, SIGKILL);
	pidfd_wait_for_exit(run->pidfd, &status, 0);
	closep(&run->pidfd);
	if (run->late)
		hook_warn_failure(commands, con, capture, "killed after 60 s", 0);
	else if (WIFSIGNALED(status))
		hook_warn_failure(commands, con, capture, "killed by signal", WTERMSIG(status));
	else if (WEXITSTATUS(status))
		hook_warn_failure(commands, con, capture, "exit code", WEXITSTATUS(status));
	hook_job_release(&run->job);
}

static void hook_handle_run(struct hook_commands *commands, struct console *con,
			    struct hook_run *run)
{
	int status;

	if (run->pidfd < 0)
		return;
	if (pidfd_wait_for_exit(run->pidfd, &status, WNOHANG | WNOWAIT) > 0) {
		hook_reap_command(commands, con, run);
	} else if (!run->late && clock_ns(CLOCK_MONOTONIC) >= run->end_ns) {
		/* A file system that hangs keeps it alive. */
		kill(-run->pid, SIGKILL);
		run->late = true;
		run->end_ns = UINT64_MAX;
	}
}

/* Treats errors of the system like failures of the command. */
static void hook_take_command(struct errand *errand)
{
	struct hook_run *run = errand->ctx;

	run->starting = false;
	if (!errand->err) {
		run->pidfd = run->started;
		run->end_ns = clock_ns(CLOCK_MONOTONIC) + HOOK_COMMAND_NS;
		run->late = false;
		return;
	}
	hook_warn_failure(run->commands, run->commands->con, run->job.capture,
			  strerror(-errand->err), 0);
	hook_job_release(&run->job);
}

static void hook_start_next(struct hook_commands *commands, struct console *con,
			    struct hook_run *run)
{
	if (run->starting || run->pidfd >= 0 || !commands->nr)
		return;
	run->job = commands->waiting[0];
	commands->nr--;
	memmove(commands->waiting, commands->waiting + 1,
		commands->nr * sizeof(*commands->waiting));
	commands->con = con;
	run->commands = commands;
	run->starting = true;
	run->start = (struct errand){
		.run = hook_spawn_command,
		.done = hook_take_command,
		.ctx = run,
	};
	errands_add(commands->errands, &run->start);
}

int hook_commands_add(struct hook_commands *commands, struct console *con, struct hook_job *job)
{
	if (array_grow(&commands->waiting, commands->nr, sizeof(*job))) {
		hook_job_release(job);
		return -ENOMEM;
	}
	commands->waiting[commands->nr++] = *job;
	hook_commands_handle(commands, con);
	return 0;
}

void hook_commands_handle(struct hook_commands *commands, struct console *con)
{
	for (size_t i = 0; i < HOOK_COMMANDS_MAX; i++) {
		hook_handle_run(commands, con, &commands->runs[i]);
		hook_start_next(commands, con, &commands->runs[i]);
	}
}

bool hook_commands_are_busy(const struct hook_commands *commands)
{
	bool busy = commands->nr;

	for (size_t i = 0; i < HOOK_COMMANDS_MAX; i++)
		busy |= commands->runs[i].starting || commands->runs[i].pidfd >= 0;
	return busy;
}

uint64_t hook_commands_due(const struct hook_commands *commands)
{
	uint64_t due = UINT64_MAX;

	for (size_t i = 0; i < HOOK_COMMANDS_MAX; i++) {
		if (commands->runs[i].pidfd >= 0 && commands->runs[i].end_ns < due)
			due = commands->runs[i].end_ns;
	}
	return due;
}

size_t hook_commands_release(struct hook_commands *commands)
{
	size_t dropped = commands->nr;

	for (size_t i = 0; i < HOOK_COMMANDS_MAX; i++) {
		struct hook_run *run = &commands->runs[i];

		if (run->pidfd < 0)
			continue;
		kill(-run->pid, SIGKILL);
		spawn_kill_process(run->pidfd);
		closep(&run->pidfd);
		hook_job_release(&run->job);
		dropped++;
	}
	for (size_t i = 0; i < commands->nr; i++)
		hook_job_release(&commands->waiting[i]);
	free(commands->waiting);
	hook_commands_init(commands, NULL);
	return dropped;
}

void capture_hooks_init(struct capture_hooks *f, struct console *con, struct results *results,
			const struct capture_hooks_opts *opts)
{
	*f = (struct capture_hooks){
		.con = con,
		.results = results,
		.why = opts->why,
		.errands = { .fd = -1, .done_fd = -1 },
		.worker = { .known = opts->known,
			    .errands = &f->errands,
			    .pidfd = -1,
			    .output = -1,
			    .errors = -1 },
		.metrics = { .path = opts->metrics },
	};
	hook_commands_init(&f->commands, opts->command);
	f->commands.errands = &f->errands;
}

int capture_hooks_arm(struct capture_hooks *f, const struct perf_poke *pp, bool journal)
{
	int err = 0;

	f->pp = pp;
	f->session = perf_poke__session(pp) ?: "";
	f->journal = journal;
	if (f->metrics.path)
		err = metrics_start_writer(&f->metrics);
	if (!err &&
	    (f->worker.known || f->why || f->journal || f->metrics.path || f->commands.command))
		err = errands_start(&f->errands);
	return err;
}

static void capture_hooks_fail(struct capture_hooks *f, const char *what, int err)
{
	f->failed = true;
	console_error(f->con, "%s: %s", what, strerror(-err));
}

/* The capture stays, and the session counts as failed. */
static void count_unjudged_capture(struct capture_hooks *f, const char *path, const char *why)
{
	f->results->nr_unjudged++;
	console_error(f->con, "'%s': cannot tell whether its cause is known%s%s; kept", path,
		      why ? ": " : "", why ?: "");
}

/* Fields of a journal entry and of a command's environment; see docs/fleet.md. */
static int make_hook_fields(const struct capture_hooks *f, const struct perf_poke_capture *capture,
			    json_object *cause, char ***fields)
{
	const struct perf_poke_spike *spike = capture->spike;
	uint64_t wall_ns = capture->wall_ns;
	char utc[CLOCK_UTC_SIZE];
	struct argv_builder words = { 0 };

	argv_builder_add(&words, "PERF_POKE_CAPTURE=%s", capture->path);
	argv_builder_add(&words, "PERF_POKE_SESSION=%s", f->session);
	argv_builder_add(&words, "PERF_POKE_CPU=%d", spike->cpu);
	argv_builder_add(&words, "PERF_POKE_LATENCY_NS=%" PRIu64, spike->latency_ns);
	argv_builder_add(&words, "PERF_POKE_TRIGGER=%s",
			 spike->poked ? "poke" : kind_display_name(spike->kind));
	argv_builder_add(&words, "PERF_POKE_TASK=%.*s", (int)sizeof(spike->comm), spike->comm);
	if (cause) {
		/* The time in capture.json, so that all outputs agree. */
		json_read_number(json_find_value(cause, "first_ns"), &wall_ns);
		argv_builder_add(&words, "PERF_POKE_FINGERPRINT=%s",
				 json_text_of(cause, "fingerprint"));
		argv_builder_add(&words, "PERF_POKE_CAUSE=%s", json_text_of(cause, "cause"));
		argv_builder_add(&words, "PERF_POKE_SENTENCE=%s", json_text_of(cause, "sentence"));
	}
	if (wall_ns) {
		clock_format_utc(utc, wall_ns);
		argv_builder_add(&words, "PERF_POKE_TIME=%s", utc);
	}
	return argv_builder_finish(&words, fields);
}

static void run_hook_command(struct capture_hooks *f, const struct perf_poke_capture *capture,
			     char **fields, json_object *cause)
{
	_cleanup_json_ json_object *about = json_capture_line(capture);
	struct hook_job job = { .environment = fields };
	const char *text;
	int err;

	json_add(about, "cause", json_object_get(cause));
	text = json_object_to_json_string_ext(about, JSON_C_TO_STRING_PLAIN |
							     JSON_C_TO_STRING_NOSLASHESCAPE);
	if (!text || asprintf(&job.input, "%s\n", text) < 0)
		job.input = NULL;
	job.capture = strdup(capture->path);
	err = hook_commands_add(&f->commands, f->con, &job);
	if (err)
		capture_hooks_fail(f, "--on-capture", err);
}

/* cause: NULL if unknown. */
static void run_capture_hooks(struct capture_hooks *f, const struct perf_poke_capture *capture,
			      json_object *cause)
{
	const char *id = cause ? json_text_of(cause, "fingerprint") : "";
	char **fields = NULL;
	int err = *id ? metrics_count_cause(&f->metrics, id) : 0;

	if (!err && *id && f->journal)
		err = make_hook_fields(f, capture, cause, &fields);
	if (fields)
		console_journal(f->con, json_text_of(cause, "sentence"), TAKE_PTR(fields));
	if (!err && f->commands.command)
		err = make_hook_fields(f, capture, cause, &fields);
	if (fields)
		run_hook_command(f, capture, TAKE_PTR(fields), cause);
	if (err)
		capture_hooks_fail(f, "capture", err);
}

struct known_removal {
	struct errand errand;
	struct capture_hooks *hooks;
	char *path;
	uint64_t time_ns;
};

int capture_folder_remove(const char *path, uint64_t time_ns)
{
	_cleanup_close_ int fd = open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	const struct perf_poke_capture *capture;
	char held[32];
	bool is_this;
	int err;

	if (fd < 0)
		return -errno;
	snprintf(held, sizeof(held), "/proc/self/fd/%d", fd);
	err = perf_poke__capture_open(&capture, held);
	if (err)
		return err;
	is_this = capture->spike->time_ns == time_ns;
	perf_poke__capture_close(capture);
	if (!is_this)
		return -ESTALE;
	err = tree_remove_entries(fd, "");
	return rmdir(path) ? err ?: -errno : 0;
}

static int known_removal_run(struct errand *errand)
{
	const struct known_removal *removal = errand->ctx;

	return capture_folder_remove(removal->path, removal->time_ns);
}

static void known_removal_finish(struct errand *errand)
{
	struct known_removal *removal = errand->ctx;
	struct capture_hooks *f = removal->hooks;

	if (errand->err) {
		console_warn(f->con, "cannot remove '%s', whose cause is known: %s", removal->path,
			     errand->err == -ESTALE ? "it is not the capture that was written"
						    : strerror(-errand->err));
	} else {
		results_remove_capture(f->results, removal->path);
		console_info(f->con, "known cause: %s, removed", removal->path);
		if (f->con->json)
			json_print_line(f->con, json_removed_line(removal->path));
	}
	free(removal->path);
	free(removal);
}

/* Begins to remove a capture with a known cause. Returns whether it stays. */
static bool remove_known_capture(struct capture_hooks *f, const struct perf_poke_capture *capture,
				 enum cause_verdict verdict, const char *why)
{
	const char *path = capture->path;
	struct known_removal *removal;

	if (verdict == CAUSE_VERDICT_NEW) {
		f->results->nr_new++;
		console_info(f->con, "new cause: %s", path);
		return true;
	}
	if (verdict == CAUSE_VERDICT_UNJUDGED) {
		count_unjudged_capture(f, path, why);
		return true;
	}
	f->results->nr_known++;
	removal = calloc(1, sizeof(*removal));
	if (removal)
		removal->path = strdup(path);
	if (!removal || !removal->path) {
		free(removal);
		capture_hooks_fail(f, "--known", -ENOMEM);
		return false;
	}
	removal->hooks = f;
	removal->time_ns = capture->spike->time_ns;
	removal->errand = (struct errand){
		.run = known_removal_run,
		.done = known_removal_finish,
		.ctx = removal,
	};
	errands_add(&f->errands, &removal->errand);
	return false;
}

static void print_capture_sentence(struct capture_hooks *f, const struct perf_poke_capture *capture,
				   json_object *cause)
{
	size_t i = (size_t)(capture - f->results->captures);

	console_info(f->con, "capture %zu: %s", results_capture_number(f->results, i),
		     json_text_of(cause, "sentence"));
}

static void handle_cause_worker(struct capture_hooks *f)
{
	_cleanup_json_ json_object *cause = NULL;
	const struct perf_poke_capture *capture = NULL;
	_cleanup_free_ char *path = NULL, *why = NULL;
	enum cause_verdict verdict;
	int err = cause_worker_next(&f->worker, &path, &verdict, &cause, &why);

	/* --keep-worst may have removed it. */
	for (size_t i = 0; path && !capture && i < f->results->nr_captures; i++) {
		if (!strcmp(f->results->captures[i].path, path))
			capture = &f->results->captures[i];
	}
	if (capture && cause && f->why)
		print_capture_sentence(f, capture, cause);
	if (capture && (!f->worker.known || remove_known_capture(f, capture, verdict, why)))
		run_capture_hooks(f, capture, cause);
	if (err && err != -EAGAIN)
		capture_hooks_fail(f, "search for the cause", err);
}

void capture_hooks_add(struct capture_hooks *f, const struct perf_poke_capture *capture)
{
	int err = 0;

	f->metrics.due = 0;
	f->metrics.lost += capture->lost;
	/* A poke has no cause. */
	if (capture->spike->poked) {
		run_capture_hooks(f, capture, NULL);
		return;
	}
	if (f->worker.known || f->journal || f->metrics.path || f->commands.command ||
	    (f->why && f->worker.nr < WHY_WAITING_MAX))
		err = cause_worker_add(&f->worker, capture->path);
	if (err)
		capture_hooks_fail(f, f->worker.known ? "--known" : "search for the cause", err);
}

void capture_hooks_fds(const struct capture_hooks *f, struct pollfd fds[CAPTURE_HOOKS_FDS])
{
	fds[0] = (struct pollfd){ .fd = f->worker.pidfd, .events = POLLIN };
	fds[1] = (struct pollfd){ .fd = f->errands.fd, .events = POLLIN };
	for (size_t i = 0; i < HOOK_COMMANDS_MAX; i++)
		fds[2 + i] = (struct pollfd){ .fd = f->commands.runs[i].pidfd, .events = POLLIN };
}

uint64_t capture_hooks_due(const struct capture_hooks *f)
{
	uint64_t due = hook_commands_due(&f->commands);

	return f->metrics.path && f->metrics.due < due ? f->metrics.due : due;
}

static void write_hook_metrics(struct capture_hooks *f, bool armed)
{
	_cleanup_(results_release) struct results now = { 0 };
	int err = results_collect(&now, f->pp);

	if (err)
		capture_hooks_fail(f, "--metrics", err);
	else
		metrics_write(&f->metrics, f->con,
			      &(struct metrics_state){
				      .session = f->session,
				      .captures = f->results,
				      .statistics = &now,
				      .commands_failed = f->commands.failed,
				      .armed = armed,
			      });
}

void capture_hooks_handle(struct capture_hooks *f)
{
	errands_handle(&f->errands);
	handle_cause_worker(f);
	hook_commands_handle(&f->commands, f->con);
	if (f->metrics.path && clock_ns(CLOCK_MONOTONIC) >= f->metrics.due)
		write_hook_metrics(f, true);
}

static int wait_hook_event(const struct capture_hooks *f, int signals)
{
	struct pollfd fds[CAPTURE_HOOKS_FDS + 1];
	uint64_t due = hook_commands_due(&f->commands), now = clock_ns(CLOCK_MONOTONIC);
	uint64_t left = due > now ? due - now : 0;
	const struct timespec timeout = {
		.tv_sec = (time_t)(left / NSEC_PER_SEC),
		.tv_nsec = (long)(left % NSEC_PER_SEC),
	};

	capture_hooks_fds(f, fds);
	fds[CAPTURE_HOOKS_FDS] = (struct pollfd){ .fd = signals, .events = POLLIN };
	if (ppoll(fds, ARRAY_SIZE(fds), due == UINT64_MAX ? NULL : &timeout, NULL) > 0 &&
	    fds[CAPTURE_HOOKS_FDS].revents)
		return -EINTR;
	return 0;
}

void capture_hooks_finish(struct capture_hooks *f, int signals)
{
	size_t dropped;

	while ((cause_worker_is_busy(&f->worker) || hook_commands_are_busy(&f->commands)) &&
	       !f->failed) {
		if (wait_hook_event(f, signals))
			break;
		errands_handle(&f->errands);
		handle_cause_worker(f);
		hook_commands_handle(&f->commands, f->con);
	}
	if (errands_finish(&f->errands, signals)) {
		f->con->abandoned = true;
		console_warn(f->con, "a file system, or a new process, does not answer: given up");
	}
	for (size_t i = 0; i < f->worker.nr && f->worker.known; i++)
		count_unjudged_capture(f, f->worker.paths[i], strerror(EINTR));
	dropped = hook_commands_release(&f->commands);
	if (dropped)
		console_warn(f->con, "--on-capture: interrupted for %zu capture%s", dropped,
			     dropped > 1 ? "s" : "");
	if (f->metrics.path)
		write_hook_metrics(f, false);
	metrics_finish_writer(&f->metrics, f->con, signals);
}

void capture_hooks_release(struct capture_hooks *f)
{
	hook_commands_release(&f->commands);
	cause_worker_release(&f->worker);
	errands_release(&f->errands);
	metrics_release(&f->metrics);
}
