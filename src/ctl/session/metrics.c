// SPDX-License-Identifier: GPL-2.0-only
#include "session/session_internal.h"

#include <inttypes.h>
#include <string.h>
#include <sys/stat.h>

#include "array.h"
#include "clock.h"
#include "io.h"
#include "text.h"

#define INTERVAL_NS (10 * NSEC_PER_SEC)
/* Of what waits for a file system, and how long for at the end. */
#define WAITING_SIZE (1 << 20)
#define END_MS 10000
/* The same bounds in all sessions: powers of two from 512 ns to 67 ms. */
#define FIRST_BOUND 9
#define LAST_BOUND 26

int metrics_count_cause(struct metrics *metrics, const char *fingerprint)
{
	size_t i = 0;

	while (i < metrics->nr && strcmp(metrics->causes[i].fingerprint, fingerprint))
		i++;
	if (i == metrics->nr) {
		if (array_grow(&metrics->causes, i, sizeof(*metrics->causes)))
			return -ENOMEM;
		metrics->causes[i] = (struct metrics_cause){ .fingerprint = strdup(fingerprint) };
		if (!metrics->causes[i].fingerprint)
			return -ENOMEM;
		metrics->nr++;
	}
	metrics->causes[i].count++;
	return 0;
}

/* A label; its value may have any bytes. */
static void metrics_put_label(FILE *file, const char *name, const char *value)
{
	_cleanup_free_ char *text = strdup(value);

	fprintf(file, "%s=\"", name);
	for (const char *c = text ? utf8_repair_text(text) : ""; *c; c++) {
		if (*c == '\n')
			fputs("\\n", file);
		else if (*c == '"' || *c == '\\')
			fprintf(file, "\\%c", *c);
		else
			fputc(*c, file);
	}
	fputc('"', file);
}

static void metrics_put_family(FILE *file, const char *name, const char *type, const char *help)
{
	fprintf(file, "# HELP perf_poke_%s %s\n# TYPE perf_poke_%s %s\n", name, help, name, type);
}

static void metrics_put_single(FILE *file, const struct metrics_state *state, const char *name,
			       const char *type, const char *help, uint64_t value)
{
	metrics_put_family(file, name, type, help);
	fprintf(file, "perf_poke_%s{", name);
	metrics_put_label(file, "session", state->session);
	fprintf(file, "} %" PRIu64 "\n", value);
}

static void metrics_begin_row(FILE *file, const struct metrics_state *state, const char *name,
			      size_t kind, int cpu)
{
	fprintf(file, "perf_poke_%s{", name);
	metrics_put_label(file, "session", state->session);
	fprintf(file, ",cpu=\"%d\",kind=\"%s\"", cpu, kind_display_name(kind));
}

static void metrics_put_histogram(FILE *file, const struct metrics_state *state, size_t kind,
				  const struct result_row *row)
{
	uint64_t count = 0;
	size_t at = 0;

	for (int bound = FIRST_BOUND; bound <= LAST_BOUND; bound++) {
		uint64_t limit_ns = UINT64_C(1) << bound;

		for (; at < row->nr_buckets && row->buckets[at].high_ns <= limit_ns; at++)
			count += row->buckets[at].count;
		metrics_begin_row(file, state, "latency_seconds_bucket", kind, row->cpu);
		fprintf(file, ",le=\"%.9g\"} %" PRIu64 "\n", (double)limit_ns / NSEC_PER_SEC,
			count);
	}
	for (; at < row->nr_buckets; at++)
		count += row->buckets[at].count;
	metrics_begin_row(file, state, "latency_seconds_bucket", kind, row->cpu);
	fprintf(file, ",le=\"+Inf\"} %" PRIu64 "\n", count);
	metrics_begin_row(file, state, "latency_seconds_sum", kind, row->cpu);
	fprintf(file, "} %" PRIu64 ".%09" PRIu64 "\n", row->stats.sum_ns / NSEC_PER_SEC,
		row->stats.sum_ns % NSEC_PER_SEC);
	/* Not the count of the statistics, which were read at another moment. */
	metrics_begin_row(file, state, "latency_seconds_count", kind, row->cpu);
	fprintf(file, "} %" PRIu64 "\n", count);
}

static void metrics_put_spikes(FILE *file, const struct metrics_state *state, size_t kind,
			       const struct result_row *row)
{
	metrics_begin_row(file, state, "spikes_total", kind, row->cpu);
	fprintf(file, "} %" PRIu64 "\n", row->stats.spikes);
}

static void metrics_put_unarmed(FILE *file, const struct metrics_state *state, size_t kind,
				const struct result_row *row)
{
	metrics_begin_row(file, state, "spikes_unarmed_total", kind, row->cpu);
	fprintf(file, "} %" PRIu64 "\n", row->stats.unarmed);
}

static void metrics_put_rows(FILE *file, const struct metrics_state *state,
			     void (*put)(FILE *file, const struct metrics_state *state, size_t kind,
					 const struct result_row *row))
{
	const struct results *results = state->statistics;

	for (size_t kind = 0; kind < KINDS_MAX; kind++) {
		for (size_t i = 0; results->kinds[kind].rows && i < results->nr_rows; i++)
			put(file, state, kind, &results->kinds[kind].rows[i]);
	}
}

static void metrics_put_causes(FILE *file, const struct metrics *metrics,
			       const struct metrics_state *state)
{
	metrics_put_family(file, "cause_captures_total", "counter",
			   "Captures by the fingerprint of their cause.");
	for (size_t i = 0; i < metrics->nr; i++) {
		fputs("perf_poke_cause_captures_total{", file);
		metrics_put_label(file, "session", state->session);
		metrics_put_label(file, ",fingerprint", metrics->causes[i].fingerprint);
		fprintf(file, "} %" PRIu64 "\n", metrics->causes[i].count);
	}
}

void metrics_print(FILE *file, const struct metrics *metrics, const struct metrics_state *state)
{
	const struct results *captures = state->captures;

	metrics_put_single(file, state, "session_armed", "gauge",
			   "Whether the session watches timers.", state->armed);
	metrics_put_family(file, "latency_seconds", "histogram", "Latencies by CPU and trigger.");
	metrics_put_rows(file, state, metrics_put_histogram);
	metrics_put_family(file, "spikes_total", "counter", "Latencies at or over the threshold.");
	metrics_put_rows(file, state, metrics_put_spikes);
	metrics_put_family(file, "spikes_unarmed_total", "counter",
			   "Spikes that were not captured because the session was not armed.");
	metrics_put_rows(file, state, metrics_put_unarmed);
	metrics_put_single(file, state, "missed_total", "counter",
			   "Expiries missed because the trigger was already running.",
			   state->statistics->kinds[PERF_POKE_TRIGGER_IRQ].all.stats.missed);
	metrics_put_single(file, state, "captures_total", "counter", "Complete captures.",
			   results_count_taken(captures));
	metrics_put_single(file, state, "captures_failed_total", "counter", "Captures that failed.",
			   captures->nr_failed);
	metrics_put_single(file, state, "lost_events_total", "counter",
			   "Events missing from the history of captures.", metrics->lost);
	metrics_put_single(file, state, "commands_failed_total", "counter",
			   "Commands of --on-capture that failed.", state->commands_failed);
	metrics_put_causes(file, metrics, state);
}

static int metrics_replace_file(const char *path, const char *text)
{
	struct output_file output;
	int err = output_file_open(&output, path, true);

	if (!err)
		err = write_all(output.fd, text, strlen(text));
	/* node_exporter runs as another user. */
	if (!err && fchmod(output.fd, 0644))
		err = -errno;
	if (!err)
		err = output_file_publish(&output);
	output_file_close(&output);
	return err;
}

static void metrics_write_job(struct outlet_job *job)
{
	struct metrics *metrics = job->ctx;

	metrics->result = metrics_replace_file(metrics->path, job->text);
}

static void metrics_warn_failure(struct metrics *metrics, struct console *con)
{
	int err = metrics->result;

	if (err && !metrics->failed)
		console_warn(con, "--metrics '%s': %s; trying again", metrics->path,
			     output_file_strerror(err));
	metrics->failed = err;
}

void metrics_write(struct metrics *metrics, struct console *con, const struct metrics_state *state)
{
	struct outlet_job job = { .write = metrics_write_job, .ctx = metrics };
	size_t size;
	FILE *file = open_memstream(&job.text, &size);

	metrics->due = clock_ns(CLOCK_MONOTONIC) + INTERVAL_NS;
	if (!file)
		return;
	metrics_print(file, metrics, state);
	if (fclose(file)) {
		free(job.text);
		return;
	}
	if (metrics->outlet) {
		outlet_add_job(metrics->outlet, &job);
	} else {
		metrics_write_job(&job);
		free(job.text);
	}
	metrics_warn_failure(metrics, con);
}

int metrics_start_writer(struct metrics *metrics)
{
	return outlet_new(&metrics->outlet, WAITING_SIZE, NULL, NULL);
}

void metrics_finish_writer(struct metrics *metrics, struct console *con, int interrupt)
{
	if (!metrics->outlet)
		return;
	if (outlet_finish(metrics->outlet, interrupt, END_MS)) {
		con->abandoned = true;
		console_warn(con, "--metrics '%s': not written: the file system does not answer",
			     metrics->path);
	} else {
		metrics_warn_failure(metrics, con);
	}
	metrics->outlet = NULL;
}

void metrics_release(struct metrics *metrics)
{
	for (size_t i = 0; i < metrics->nr; i++)
		free(metrics->causes[i].fingerprint);
	free(metrics->causes);
	*metrics = (struct metrics){ 0 };
}
