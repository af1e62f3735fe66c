// SPDX-License-Identifier: GPL-2.0-only
#include "session/session_internal.h"

#include <inttypes.h>
#include <poll.h>
#include <string.h>

#include "clock.h"
#include "cpulist.h"
#include "text.h"
#include "units.h"

/* See perf_poke.h. */
#define DEFAULT_OUTPUT "perf-poke.data"

/* Intervals of the status line and of the status for a service manager. */
#define TICK_NS (NSEC_PER_SEC / 5)
#define NOTIFY_TICK_NS (10 * NSEC_PER_SEC)

struct session {
	struct console *con;
	struct perf_poke *pp;
	struct perf_poke_opts opts;
	char name[16]; /* default */
	struct results results;
	struct detach *detach; /* NULL: in the foreground */
	const struct target_args *args;
	struct session_targets targets;
	struct capture_hooks hooks;
	uint64_t wanted; /* captures; with --known of new causes; UINT64_MAX: no limit */
	int signals;
	uint64_t armed_ns;
	uint64_t end_ns;  /* UINT64_MAX: no limit */
	uint64_t tick_ns; /* time of the next status; UINT64_MAX: never */
	size_t errors;	  /* con->errors before the call into the library */
	bool failed;	  /* other than a failed capture */
	struct session_view view;
	uint64_t skid_ns; /* of the newest capture */
	struct program program;
	bool interrupted; /* by a signal */
};

/* Prints an error unless the library has logged one. */
static void session_print_failure(struct session *s, const char *what, int error)
{
	if (s->con->errors == s->errors)
		console_error(s->con, "%s: %s", what, strerror(-error));
	s->errors = s->con->errors;
}

static bool option_is_given(const struct perf_poke_option *option, char *const *words)
{
	for (; *words && strcmp(*words, "--"); words++) {
		const char *word = *words;

		if (option->letter && word[0] == '-' && word[1] == option->letter)
			return true;
		/* Names may be abbreviated. */
		if (has_prefix(word, "--") &&
		    !strncmp(word + 2, option->name, strcspn(word + 2, "=")))
			return true;
	}
	return false;
}

/* The library names options as programs give them. Whether the message begins with one that the
 * user has given, with dashes. */
static bool message_names_option(const char *msg, char *const *words)
{
	const struct perf_poke_option *option;
	size_t length = strcspn(msg, " :");

	for (size_t i = 0; words && (option = perf_poke__option(i)); i++) {
		if (strlen(option->name) == length && !strncmp(msg, option->name, length))
			return option_is_given(option, words);
	}
	return false;
}

static void session_log_message(void *ctx, enum perf_poke_log_level level, const char *msg)
{
	_cleanup_free_ char *dashed = NULL;
	struct session *s = ctx;

	if (level == PERF_POKE_LOG_ERROR && message_names_option(msg, s->view.words))
		dashed = strfmt("--%s", msg);
	console_log_message(s->con, level, dashed ?: msg);
}

static void session_add_capture(void *ctx, const struct perf_poke_capture *capture)
{
	struct session *s = ctx;
	char ran[64];
	int err;

	if (s->con->json)
		json_print_line(s->con, json_capture_line(capture));
	if (capture->error) {
		s->results.nr_failed++;
		return;
	}
	err = results_add_capture(&s->results, capture);
	if (err) {
		s->failed = true;
		session_print_failure(s, "capture", err);
		return;
	}
	capture_hooks_add(&s->hooks, capture);
	s->skid_ns = capture->skid_ns;
	if (systemd_wants_notify())
		s->tick_ns = 0;
	if (capture->spike->poked) {
		console_info(s->con, "capture %zu: poke, %s", results_count_taken(&s->results),
			     capture->path);
		return;
	}
	console_info(s->con, "capture %zu: %s%s%s%s on CPU %d%s, %s",
		     results_count_taken(&s->results), capture->spike->rtla ? "rtla: " : "",
		     capture->spike->kind ? kind_display_name(capture->spike->kind) : "",
		     capture->spike->kind ? " " : "", FORMAT_TIME(capture->spike->latency_ns),
		     capture->spike->cpu, format_ran_cpu(ran, sizeof(ran), capture->spike),
		     capture->path);
}

static void session_drop_capture(void *ctx, const char *path)
{
	struct session *s = ctx;

	results_remove_capture(&s->results, path);
	if (s->con->json)
		json_print_line(s->con, json_removed_line(path));
}

/* Such as " to 812 and 813". */
static int format_poke_targets(const struct perf_poke_opts *opts, char **text)
{
	size_t size;
	FILE *file = open_memstream(text, &size);

	if (!file)
		return -ENOMEM;
	for (size_t i = 0; i < opts->nr_targets; i++)
		fprintf(file, "%s %d", i ? " and" : " to", opts->targets[i].pid);
	return fclose(file) ? -ENOMEM : 0;
}

/* Such as `, threshold 30us` or `, threshold irq 30us, thread 60us, each marker`. */
static int format_thresholds(const struct perf_poke_opts *opts, char **text)
{
	bool named = false;
	size_t size;
	FILE *file = open_memstream(text, &size);

	if (!file)
		return -ENOMEM;
	if (!opts->nr_triggers)
		fprintf(file, ", threshold %s", FORMAT_TIME(opts->threshold_ns));
	for (size_t i = 0; i < opts->nr_triggers; i++) {
		const struct perf_poke_trigger *trigger = &opts->triggers[i];

		kind_put_threshold(file, trigger->kind, trigger->threshold_ns ?: opts->threshold_ns,
				   &named);
	}
	return fclose(file) ? -ENOMEM : 0;
}

static void session_print_armed(struct session *s, const int *cpus, size_t nr)
{
	const char *recorder = perf_poke__chosen(s->pp, PERF_POKE_AXIS_RECORDER);
	const char *workload = perf_poke__chosen(s->pp, PERF_POKE_AXIS_WORKLOAD);
	const char *session = perf_poke__session(s->pp);
	const char *delivery = perf_poke__chosen(s->pp, PERF_POKE_AXIS_DELIVERY);
	_cleanup_free_ char *targets = NULL;
	_cleanup_free_ char *thresholds = NULL;
	_cleanup_free_ char *list = NULL;
	char cost[64] = "";

	if (s->con->json)
		json_print_line(s->con, json_armed_line(cpus, nr, &s->opts, session, recorder,
							workload, delivery));
	if (cpulist_format(cpus, nr, &list) || format_poke_targets(&s->opts, &targets) ||
	    format_thresholds(&s->opts, &thresholds))
		return;
	/* Who has not chosen a workload may not know that it disturbs the watched CPUs. */
	if (s->opts.workload == PERF_POKE_WORKLOAD_AUTO && strcmp(workload, "none"))
		snprintf(cost, sizeof(cost), " (its thread wakes there each %s)",
			 FORMAT_TIME(s->opts.period_ns ?: NSEC_PER_MSEC));
	console_info(s->con, "armed: %s%s%sCPU%s %s%s%s%s, recorder %s, workload %s%s%s%s%s",
		     session ? "session " : "", session ?: "", session ? ", " : "",
		     nr > 1 ? "s" : "", list, thresholds, s->opts.function ? ", timer " : "",
		     s->opts.function ?: "", recorder, workload, cost,
		     *targets ? ", delivery " : "", *targets ? delivery : "", targets);
}

struct session *session_new(struct console *con, const struct perf_poke_opts *opts,
			    const struct target_args *targets, struct detach *detach,
			    const struct session_view *view)
{
	struct session *s = calloc(1, sizeof(*s));

	if (!s) {
		console_error(con, "%s", strerror(ENOMEM));
		return NULL;
	}
	s->con = con;
	s->opts = *opts;
	s->args = targets;
	s->program = (struct program){ .pidfd = -1, .gate = -1 };
	s->targets = session_targets_none;
	s->wanted = opts->max_captures;
	s->detach = detach;
	s->view = *view;
	s->results.keeps = opts->keep_worst || opts->max_disk || view->hooks.known;
	s->results.known = view->hooks.known;
	s->results.has_program = view->program;
	capture_hooks_init(&s->hooks, con, &s->results, &view->hooks);
	if (s->results.known)
		s->opts.max_captures = UINT64_MAX;
	if (!s->opts.session) {
		snprintf(s->name, sizeof(s->name), "%d", getpid());
		s->opts.session = s->name;
	}
	s->opts.output_owner = sudo_user_id();
	s->opts.log = session_log_message;
	s->opts.log_ctx = s;
	s->opts.on_capture = session_add_capture;
	s->opts.on_removed = session_drop_capture;
	s->opts.capture_ctx = s;
	s->errors = con->errors;
	/* Before the library creates threads, which inherit the signal mask. */
	s->signals = signals_open_fd();
	if (s->signals < 0) {
		session_print_failure(s, "signals", s->signals);
		session_free(s);
		return NULL;
	}
	return s;
}

enum exit_code session_create(struct session *s)
{
	const char *housekeeping = s->args->housekeeping;
	_cleanup_free_ int *cpus = NULL;
	size_t nr;
	int err = program_create(&s->program, s->view.program);

	if (err) {
		session_print_failure(s, s->view.program[0], err);
		return EXIT_FAILED;
	}
	err = housekeeping ? cpulist_parse(housekeeping, &cpus, &nr) : 0;
	/* The threads that are created later inherit the CPUs. */
	if (!err && housekeeping)
		err = affinity_set(cpus, nr);
	if (err) {
		console_error(s->con, "--housekeeping '%s': %s", housekeeping,
			      err == -EINVAL ? "none of these CPUs is online and allowed"
					     : strerror(-err));
		return EXIT_USAGE;
	}
	err = session_targets_prepare(&s->targets, s->args, s->con, &s->opts);
	if (err)
		return EXIT_FAILED;
	err = perf_poke__new(&s->pp, &s->opts);
	if (err) {
		session_print_failure(s, "start", err);
		return err == -EINVAL || err == -ENXIO ? EXIT_USAGE : EXIT_FAILED;
	}
	if (s->targets.child.pidfd < 0)
		return EXIT_FINE;
	err = child_process_start(&s->targets.child, s->signals);
	s->targets.started = !err;
	if (!err)
		return EXIT_FINE;
	return err == -EINTR ? EXIT_NO_SPIKE : EXIT_FAILED;
}

enum exit_code session_enter_armed(struct session *s, uint64_t duration_ns)
{
	const int *cpus;
	size_t nr;
	int err;

	s->errors = s->con->errors;
	err = perf_poke__start(s->pp);
	if (err) {
		session_print_failure(s, "start", err);
		return err == -EINVAL || err == -ENOENT || err == -EEXIST ? EXIT_USAGE
									  : EXIT_FAILED;
	}
	s->armed_ns = clock_ns(CLOCK_MONOTONIC);
	s->end_ns = duration_ns ? s->armed_ns + duration_ns : UINT64_MAX;

	cpus = perf_poke__cpus(s->pp, &nr);
	err = placement_apply(cpus, nr);
	if (err)
		console_warn(s->con, "no real-time priority, expect a longer skid: %s",
			     strerror(-err));
	if (s->detach &&
	    detach_release_caller(s->detach, s->con, &s->opts, perf_poke__output(s->pp)))
		return EXIT_FAILED;
	/* With normal priority, and not on the watched CPUs. Also the log of --detach. */
	err = console_background(s->con);
	err = err ?: capture_hooks_arm(&s->hooks, s->pp, s->con->log.kind == LOGGER_JOURNAL);
	if (err) {
		session_print_failure(s, "cannot start the thread that writes messages", err);
		return EXIT_FAILED;
	}
	session_print_armed(s, cpus, nr);
	err = program_start(&s->program);
	if (err) {
		session_print_failure(s, s->program.argv[0], err);
		return EXIT_FAILED;
	}
	console_notify(s->con, "READY=1");
	/* The service manager knows the caller's PID only. */
	if (s->detach)
		console_notify(s->con, "MAINPID=%d", getpid());
	s->tick_ns = s->view.top || console_has_status(s->con) || systemd_wants_notify()
			     ? s->armed_ns
			     : UINT64_MAX;
	return EXIT_FINE;
}

static void session_print_status(struct session *s)
{
	uint64_t elapsed_ns = clock_ns(CLOCK_MONOTONIC) - s->armed_ns;
	uint64_t seconds = elapsed_ns / NSEC_PER_SEC;
	struct perf_poke_stats stats = { .sz = sizeof(stats) };
	size_t taken = results_count_taken(&s->results), size;
	const struct top_state top = { elapsed_ns, taken, s->skid_ns,
				       console_terminal_columns(s->con) };
	_cleanup_free_ char *table = NULL;
	char text[256], captures[64];
	FILE *file;
	int err;

	if (s->wanted != UINT64_MAX)
		snprintf(captures, sizeof(captures), "%zu/%" PRIu64 " %scaptures",
			 s->results.known ? s->results.nr_new : taken, s->wanted,
			 s->results.known ? "new " : "");
	else
		units_format_count(captures, sizeof(captures), taken, "capture", "captures");
	if (perf_poke__stats(s->pp, PERF_POKE_TRIGGER_IRQ, ALL_CPUS, &stats))
		return;
	snprintf(text, sizeof(text), "%" PRIu64 ":%02" PRIu64 ":%02" PRIu64 "  %s  max %s  %s  %s",
		 seconds / 3600, seconds / 60 % 60, seconds % 60,
		 FORMAT_COUNT(stats.count, "expiry", "expiries"), FORMAT_TIME(stats.max_ns),
		 FORMAT_COUNT(stats.spikes, "spike", "spikes"), captures);
	file = s->view.top ? open_memstream(&table, &size) : NULL;
	if (file) {
		/* Clear the screen. */
		if (isatty(fileno(s->con->out)))
			fputs("\033[H\033[J", file);
		err = top_print_session(file, s->pp, &top);
		fputc('\n', file);
		if (!fclose(file) && !err)
			console_result(s->con, table);
	} else if (!s->view.top && console_has_status(s->con)) {
		console_status(s->con, text);
	}
	console_notify(s->con, "STATUS=%s", text);
}

/* Without another event. */
static uint64_t session_end_time(const struct session *s)
{
	size_t spikes = results_count_taken(&s->results) - s->results.nr_poked;
	size_t counted = s->results.known ? s->results.nr_new : spikes;

	return counted >= s->wanted ? 0 : s->end_ns;
}

/* Waits for an event, the end or the next tick. Returns as ppoll(). */
static int session_wait_events(const struct session *s, struct pollfd *fds, size_t nr)
{
	uint64_t end_ns = session_end_time(s), ours = s->tick_ns < end_ns ? s->tick_ns : end_ns;
	uint64_t due = capture_hooks_due(&s->hooks), until = due < ours ? due : ours;
	uint64_t now = clock_ns(CLOCK_MONOTONIC);
	uint64_t left = until > now ? until - now : 0;
	const struct timespec timeout = {
		.tv_sec = (time_t)(left / NSEC_PER_SEC),
		.tv_nsec = (long)(left % NSEC_PER_SEC),
	};

	return ppoll(fds, nr, until == UINT64_MAX ? NULL : &timeout, NULL);
}

/* Returns false to end the session. */
static bool session_poll_library(struct session *s)
{
	int err;

	s->errors = s->con->errors;
	err = perf_poke__poll(s->pp, 0);
	if (err >= 0 || err == -EINTR)
		return true;
	if (err == -ECANCELED || err == -ESRCH) {
		if (err == -ECANCELED)
			console_info(s->con, "stopped by another process");
		else if (!child_process_has_ended(&s->targets.child))
			console_info(s->con, "no target is left");
		return false;
	}
	s->failed = true;
	session_print_failure(s, "snapshot", err);
	return err == -EIO || err == -ENOMEM;
}

void session_watch_events(struct session *s)
{
	const uint64_t tick_ns = s->view.top		      ? NSEC_PER_SEC
				 : console_has_status(s->con) ? TICK_NS
							      : NOTIFY_TICK_NS;
	struct pollfd fds[6 + CAPTURE_HOOKS_FDS] = {
		{ .fd = perf_poke__fd(s->pp), .events = POLLIN },
		{ .fd = s->signals, .events = POLLIN },
		{ .fd = s->targets.child.pidfd, .events = POLLIN },
		{ .fd = s->con->deaf_fd, .events = POLLIN },
		{ .fd = s->program.pidfd, .events = POLLIN },
		{ .fd = s->program.gate, .events = POLLIN },
	};

	while (clock_ns(CLOCK_MONOTONIC) < session_end_time(s) && !console_is_deaf(s->con)) {
		int err;

		fds[5].fd = s->program.gate;
		capture_hooks_fds(&s->hooks, &fds[6]);
		err = session_wait_events(s, fds, ARRAY_SIZE(fds));
		if (err < 0 && errno != EINTR) {
			s->failed = true;
			console_error(s->con, "ppoll: %s", strerror(errno));
			return;
		}
		s->interrupted = err > 0 && fds[1].revents;
		if (s->interrupted)
			return;
		if (err > 0 && fds[0].revents && !session_poll_library(s))
			return;
		if (program_start_error(&s->program) || program_has_ended(&s->program))
			return;
		if (err > 0 && fds[2].revents && child_process_has_ended(&s->targets.child))
			return;
		capture_hooks_handle(&s->hooks);
		if (clock_ns(CLOCK_MONOTONIC) >= s->tick_ns) {
			session_print_status(s);
			s->tick_ns = clock_ns(CLOCK_MONOTONIC) + tick_ns;
		}
	}
}

static void session_wait_program(struct session *s)
{
	int code = program_finish(&s->program, s->signals, s->interrupted);
	int err = program_start_error(&s->program);

	s->results.has_program = !err;
	if (err) {
		s->failed = true;
		console_error(s->con, "'%s': %s", s->program.argv[0], strerror(-err));
	} else {
		s->results.program_code = code;
	}
}

/* Whether the CPUs were never taken for the threshold, all the time that was asked for. */
static enum exit_code session_judge_interruptions(const struct session *s)
{
	const struct result_kind *kind = &s->results.kinds[PERF_POKE_TRIGGER_INTERRUPTION];

	if (kind->all.stats.spikes)
		return EXIT_INTERRUPTED;
	return clock_ns(CLOCK_MONOTONIC) >= s->end_ns ? EXIT_FINE : EXIT_NO_SPIKE;
}

enum exit_code session_finish(struct session *s)
{
	_cleanup_close_ int closed_later = -1;
	_cleanup_free_ char *text = NULL;
	size_t size;
	FILE *file;
	bool left;
	int err;

	/* The signal that ended the session. One that comes while it stops is a second one. The
	 * program has got what was typed, too. */
	if (signals_drain_fd(s->signals))
		s->interrupted = false;
	console_notify(s->con, "STOPPING=1\nSTATUS=stopping: writing captures");
	s->errors = s->con->errors;
	s->results.elapsed_ns = clock_ns(CLOCK_MONOTONIC) - s->armed_ns;
	if (console_has_status(s->con))
		console_status(s->con, "stopping: writing captures");
	closed_later = tracepoints_hand_over();
	/* A service manager kills what a service leaves behind. */
	left = !systemd_wants_notify() && perf_poke__leave_tracing(s->pp) > 0;
	err = perf_poke__stop(s->pp);
	if (left)
		tracing_remove_later();
	if (err)
		s->failed = true;
	/* What reads the captures would wait for the same file system. */
	if (err == -ETIMEDOUT)
		s->hooks.failed = true;
	console_clear_status(s->con);
	/* No poke follows. */
	if (session_targets_finish(&s->targets, s->signals, &s->results.perf))
		s->failed = true;
	if (s->program.argv)
		session_wait_program(s);
	s->errors = s->con->errors;
	if (console_has_status(s->con))
		console_status(s->con, "stopping: finding causes");
	capture_hooks_finish(&s->hooks, s->signals);
	console_clear_status(s->con);

	err = results_collect(&s->results, s->pp);
	if (!err && s->con->json) {
		json_print_line(s->con, json_summary_line(&s->results));
	} else if (!err) {
		file = open_memstream(&text, &size);
		err = file ? summary_print(file, &s->results) : -ENOMEM;
		if (file && fclose(file))
			err = -ENOMEM;
		if (!err)
			console_result(s->con, text);
	}
	if (err) {
		s->failed = true;
		session_print_failure(s, "results", err);
	}
	if (s->results.program_code)
		return s->results.program_code;
	if (s->failed || s->hooks.failed || s->results.nr_failed || s->results.nr_unjudged)
		return EXIT_FAILED;
	if (s->results.nr_new)
		return EXIT_NEW_CAUSE;
	if (s->results.kinds[PERF_POKE_TRIGGER_INTERRUPTION].rows)
		return session_judge_interruptions(s);
	return results_count_taken(&s->results) ? EXIT_FINE : EXIT_NO_SPIKE;
}

void session_free(struct session *s)
{
	if (!s)
		return;
	console_foreground(s->con, s->signals);
	if (s->con->abandoned)
		_exit(EXIT_FAILED);
	perf_poke__free(s->pp);
	session_targets_release(&s->targets);
	program_release(&s->program);
	capture_hooks_release(&s->hooks);
	results_release(&s->results);
	closep(&s->signals);
	free(s);
}
