// SPDX-License-Identifier: GPL-2.0-only
#include "session/follow.h"

#include <inttypes.h>
#include <string.h>
#include <time.h>

#include "cli/cli.h"
#include "clock.h"
#include "json_file.h"
#include "session/json.h"
#include "tree.h"

void follow_init(struct follow *f, struct console *con, struct results *results,
		 const struct follow_opts *opts)
{
	*f = (struct follow){
		.con = con,
		.results = results,
		.sieve = { .opts = opts->sieve, .pidfd = -1, .output = -1, .errors = -1 },
		.metrics = { .path = opts->metrics },
	};
	on_capture_init(&f->on_capture, opts->command);
}

int follow_begin(struct follow *f, const struct perf_poke *pp, bool journal)
{
	f->pp = pp;
	f->session = perf_poke__session(pp) ?: "";
	f->journal = journal;
	return f->metrics.path ? metrics_begin(&f->metrics) : 0;
}

static void fail(struct follow *f, const char *what, int r)
{
	f->failed = true;
	console_error(f->con, "%s: %s", what, strerror(-r));
}

/* The capture stays, and the session counts as failed. */
static void unjudge(struct follow *f, const char *path, const char *why)
{
	f->results->nr_unjudged++;
	console_error(f->con, "'%s': cannot tell whether its cause is known%s%s; kept", path,
		      why ? ": " : "", why ?: "");
}

static void add_time(struct words *words, uint64_t wall_ns)
{
	char text[CLOCK_UTC_SIZE];

	if (!wall_ns)
		return;
	clock_format_utc(text, wall_ns);
	words_add(words, "PERF_POKE_TIME=%s", text);
}

/* Fields of a journal entry and of a command's environment; see docs/fleet.md. */
static int make_fields(const struct follow *f, const struct perf_poke_capture *capture,
		       json_object *cause, char ***fields)
{
	const struct perf_poke_spike *spike = capture->spike;
	uint64_t wall_ns = capture->wall_ns;
	struct words words = { 0 };

	words_add(&words, "PERF_POKE_CAPTURE=%s", capture->path);
	words_add(&words, "PERF_POKE_SESSION=%s", f->session);
	words_add(&words, "PERF_POKE_CPU=%d", spike->cpu);
	words_add(&words, "PERF_POKE_LATENCY_NS=%" PRIu64, spike->latency_ns);
	words_add(&words, "PERF_POKE_TRIGGER=%s", spike->poked ? "poke" : kind_name(spike->kind));
	words_add(&words, "PERF_POKE_TASK=%.*s", (int)sizeof(spike->comm), spike->comm);
	if (cause) {
		/* The time in capture.json, so that all outputs agree. */
		json_number(json_find(cause, "first_ns"), &wall_ns);
		words_add(&words, "PERF_POKE_FINGERPRINT=%s", json_text_of(cause, "fingerprint"));
		words_add(&words, "PERF_POKE_CAUSE=%s", json_text_of(cause, "cause"));
		words_add(&words, "PERF_POKE_SENTENCE=%s", json_text_of(cause, "sentence"));
	}
	add_time(&words, wall_ns);
	return words_take(&words, fields);
}

static void run_command(struct follow *f, const struct perf_poke_capture *capture, char **fields,
			json_object *cause)
{
	_cleanup_json_ json_object *about = json_capture(capture);
	struct on_capture_job job = { .environment = fields };
	const char *text;
	int r;

	json_add(about, "cause", json_object_get(cause));
	text = json_object_to_json_string_ext(about, JSON_C_TO_STRING_PLAIN |
							     JSON_C_TO_STRING_NOSLASHESCAPE);
	if (!text || asprintf(&job.input, "%s\n", text) < 0)
		job.input = NULL;
	job.capture = strdup(capture->path);
	r = on_capture_add(&f->on_capture, f->con, &job);
	if (r)
		fail(f, "--on-capture", r);
}

/* cause: NULL if unknown. */
static void tell(struct follow *f, const struct perf_poke_capture *capture, json_object *cause)
{
	const char *id = cause ? json_text_of(cause, "fingerprint") : "";
	char **fields = NULL;
	int r = *id ? metrics_count(&f->metrics, id) : 0;

	if (!r && *id && f->journal)
		r = make_fields(f, capture, cause, &fields);
	if (fields)
		console_journal(f->con, json_text_of(cause, "sentence"), TAKE_PTR(fields));
	if (!r && f->on_capture.command)
		r = make_fields(f, capture, cause, &fields);
	if (fields)
		run_command(f, capture, TAKE_PTR(fields), cause);
	if (r)
		fail(f, "capture", r);
}

static const struct perf_poke_capture *find(const struct follow *f, const char *path)
{
	for (size_t i = 0; i < f->results->nr_captures; i++) {
		if (!strcmp(f->results->captures[i].path, path))
			return &f->results->captures[i];
	}
	return NULL;
}

/* Removes a capture with a known cause. Returns whether it stays. */
static bool sift(struct follow *f, const char *path, enum sieve_verdict verdict, const char *why)
{
	if (verdict == SIEVE_NEW) {
		f->results->nr_new++;
		console_info(f->con, "new cause: %s", path);
		return true;
	}
	if (verdict == SIEVE_UNJUDGED) {
		unjudge(f, path, why);
		return true;
	}
	f->results->nr_known++;
	if (tree_remove(AT_FDCWD, path))
		console_warn(f->con, "cannot remove '%s'", path);
	results_remove_capture(f->results, path);
	console_info(f->con, "known cause: %s, removed", path);
	if (f->con->json)
		json_print(f->con, json_removed(path));
	return false;
}

static void handle_sieve(struct follow *f)
{
	_cleanup_json_ json_object *cause = NULL;
	const struct perf_poke_capture *capture;
	_cleanup_free_ char *path = NULL, *why = NULL;
	enum sieve_verdict verdict;
	int r = sieve_next(&f->sieve, &path, &verdict, &cause, &why);

	/* --keep-worst may have removed it. */
	capture = path ? find(f, path) : NULL;
	if (capture && (!f->sieve.opts.known || sift(f, path, verdict, why)))
		tell(f, capture, cause);
	if (r && r != -EAGAIN)
		fail(f, "capture", r);
}

static bool wants_causes(const struct follow *f)
{
	return f->sieve.opts.known || f->journal || f->metrics.path || f->on_capture.command;
}

void follow_add(struct follow *f, const struct perf_poke_capture *capture)
{
	int r = 0;

	f->metrics.due = 0;
	f->metrics.lost += capture->lost;
	/* A poke has no cause. */
	if (capture->spike->poked) {
		tell(f, capture, NULL);
		return;
	}
	if (wants_causes(f))
		r = sieve_add(&f->sieve, capture->path);
	if (r)
		fail(f, f->sieve.opts.known ? "--known" : "capture", r);
}

void follow_fds(const struct follow *f, struct pollfd fds[FOLLOW_FDS])
{
	fds[0] = (struct pollfd){ .fd = f->sieve.pidfd, .events = POLLIN };
	for (size_t i = 0; i < ON_CAPTURE_AT_ONCE; i++)
		fds[1 + i] = (struct pollfd){ .fd = f->on_capture.runs[i].pidfd, .events = POLLIN };
}

uint64_t follow_due(const struct follow *f)
{
	uint64_t due = on_capture_due(&f->on_capture);

	return f->metrics.path && f->metrics.due < due ? f->metrics.due : due;
}

static void write_metrics(struct follow *f, bool armed)
{
	_cleanup_(results_release) struct results now = { 0 };
	int r = results_collect(&now, f->pp);

	if (r)
		fail(f, "--metrics", r);
	else
		metrics_write(&f->metrics, f->con,
			      &(struct metrics_state){
				      .session = f->session,
				      .captures = f->results,
				      .statistics = &now,
				      .commands_failed = f->on_capture.failed,
				      .armed = armed,
			      });
}

void follow_handle(struct follow *f)
{
	handle_sieve(f);
	on_capture_handle(&f->on_capture, f->con);
	if (f->metrics.path && clock_ns(CLOCK_MONOTONIC) >= f->metrics.due)
		write_metrics(f, true);
}

static int wait_one(const struct follow *f, int signals)
{
	struct pollfd fds[FOLLOW_FDS + 1];
	uint64_t due = on_capture_due(&f->on_capture), now = clock_ns(CLOCK_MONOTONIC);
	uint64_t left = due > now ? due - now : 0;
	const struct timespec timeout = {
		.tv_sec = (time_t)(left / NSEC_PER_SEC),
		.tv_nsec = (long)(left % NSEC_PER_SEC),
	};

	follow_fds(f, fds);
	fds[FOLLOW_FDS] = (struct pollfd){ .fd = signals, .events = POLLIN };
	if (ppoll(fds, ARRAY_SIZE(fds), due == UINT64_MAX ? NULL : &timeout, NULL) > 0 &&
	    fds[FOLLOW_FDS].revents)
		return -EINTR;
	return 0;
}

void follow_finish(struct follow *f, int signals)
{
	size_t dropped;

	while ((f->sieve.pidfd >= 0 || on_capture_is_busy(&f->on_capture)) && !f->failed) {
		if (wait_one(f, signals))
			break;
		handle_sieve(f);
		on_capture_handle(&f->on_capture, f->con);
	}
	for (size_t i = 0; i < f->sieve.nr && f->sieve.opts.known; i++)
		unjudge(f, f->sieve.paths[i], strerror(EINTR));
	dropped = on_capture_release(&f->on_capture);
	if (dropped)
		console_warn(f->con, "--on-capture: interrupted for %zu capture%s", dropped,
			     dropped > 1 ? "s" : "");
	if (f->metrics.path)
		write_metrics(f, false);
	metrics_end(&f->metrics, f->con, signals);
}

void follow_release(struct follow *f)
{
	on_capture_release(&f->on_capture);
	sieve_release(&f->sieve);
	metrics_release(&f->metrics);
}
