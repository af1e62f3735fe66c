// SPDX-License-Identifier: GPL-2.0-only
#include "session/report.h"

#include <inttypes.h>
#include <limits.h>
#include <string.h>

#include "cli/cli.h"
#include "cpulist.h"
#include "session/histogram.h"
#include "task.h"
#include "text.h"
#include "units.h"

static void print_row(FILE *file, const struct result_row *row)
{
	const struct perf_poke_stats *stats = &row->stats;

	if (row->cpu == ALL_CPUS)
		fprintf(file, "%5s", "all");
	else
		fprintf(file, "%5d", row->cpu);
	fprintf(file, " %12" PRIu64, stats->count);
	if (stats->count)
		fprintf(file, " %8s %8s %8s %8s %8s %8s", FORMAT_TIME(stats->min_ns),
			FORMAT_TIME(stats->sum_ns / stats->count), FORMAT_TIME(row->p50_ns),
			FORMAT_TIME(row->p99_ns), FORMAT_TIME(row->p999_ns),
			FORMAT_TIME(stats->max_ns));
	else
		fprintf(file, " %8s %8s %8s %8s %8s %8s", "-", "-", "-", "-", "-", "-");
	fprintf(file, " %8" PRIu64 "\n", stats->spikes);
}

static void print_tables(FILE *file, const struct results *results)
{
	fprintf(file, "%5s %12s %8s %8s %8s %8s %8s %8s %8s\n", "CPU", "expiries", "min", "avg",
		"p50", "p99", "p99.9", "max", "spikes");
	for (size_t kind = 0; kind < KINDS_MAX; kind++) {
		const struct result_kind *one = &results->kinds[kind];

		if (!one->rows)
			continue;
		if (kind)
			fprintf(file, "\n%5s %12s\n", "", kind_name(kind));
		for (size_t i = 0; i < results->nr_rows; i++)
			print_row(file, &one->rows[i]);
		if (results->nr_rows > 1)
			print_row(file, &one->all);
	}
}

static void print_notes(FILE *file, const struct perf_poke_stats *all)
{
	if (all->missed)
		fprintf(file, "\nnote: %s missed: the trigger was already running on that CPU\n",
			FORMAT_COUNT(all->missed, "expiry", "expiries"));
	if (all->unarmed)
		fprintf(file, "\nnote: %s occurred during a capture and %s not recorded\n",
			FORMAT_COUNT(all->unarmed, "spike", "spikes"),
			all->unarmed == 1 ? "was" : "were");
}

static void print_unpaired(FILE *file, const struct perf_poke_stats *span)
{
	const struct {
		uint64_t nr;
		const char *one, *many;
	} rows[] = {
		{ span->not_entered, "exit without an entry", "exits without an entry" },
		{ span->reentered, "entry in an open span", "entries in an open span" },
		{ span->thread_died, "thread that ended before its exit",
		  "threads that ended before their exit" },
		{ span->no_room, "entry with too many spans open",
		  "entries with too many spans open" },
	};
	const char *separator = "\nnote: not measured as spans: ";

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		if (!rows[i].nr)
			continue;
		fprintf(file, "%s%s", separator,
			FORMAT_COUNT(rows[i].nr, rows[i].one, rows[i].many));
		separator = ", ";
	}
	if (*separator == ',')
		fputc('\n', file);
}

static const char *format_task(char *buf, size_t size, const struct perf_poke_spike *spike)
{
	return task_format(buf, size, spike->idle, CLEAN(spike->comm), spike->pid, spike->tid);
}

/* Each one's share of the time from the interrupt to the last known latency. */
static void print_noise(FILE *file, const struct perf_poke_spike *spike)
{
	bool is_noise = spike->kind == PERF_POKE_TRIGGER_NOISE;
	uint64_t last_ns = is_noise ? spike->latency_ns : spike->user_ns ?: spike->thread_ns;
	const struct {
		const char *name;
		uint64_t ns;
	} noises[] = { { "irq", spike->noise_irq_ns },
		       { "softirq", spike->noise_softirq_ns },
		       { "thread", spike->noise_thread_ns },
		       { "nmi", spike->noise_nmi_ns } };
	const char *separator = "";

	if (!spike->has_noise || last_ns <= spike->irq_ns)
		return;
	fprintf(file, "  %-12s ", "noise");
	for (size_t i = 0; i < ARRAY_SIZE(noises); i++) {
		if (!noises[i].ns)
			continue;
		fprintf(file, "%s%s %s (%.0f%%)", separator, noises[i].name,
			FORMAT_TIME(noises[i].ns),
			100.0 * noises[i].ns / (last_ns - spike->irq_ns));
		separator = ", ";
	}
	fprintf(file, "%s of the %s%s\n", *separator ? "" : "none",
		FORMAT_TIME(last_ns - spike->irq_ns), is_noise ? "" : " after the interrupt");
}

const char *report_ran(char *buf, size_t size, const struct perf_poke_spike *spike)
{
	buf[0] = '\0';
	if (spike->ran_cpu != spike->cpu)
		snprintf(buf, size, ", ran on CPU %d%s", spike->ran_cpu,
			 spike->ran_watched ? "" : " (not watched)");
	return buf;
}

static void print_spike(FILE *file, const struct perf_poke_spike *spike)
{
	char task[64], ran[64];

	if (spike->poked) {
		fprintf(file, "  %-12s poked\n", "reason");
		return;
	}
	fprintf(file, "  %-12s %s on CPU %d%s", "latency", FORMAT_TIME(spike->latency_ns),
		spike->cpu, report_ran(ran, sizeof(ran), spike));
	if (spike->kind)
		fprintf(file, ", of the %s", kind_name(spike->kind));
	if (spike->rtla)
		fprintf(file, ", as rtla saw it");
	if (spike->thread_ns)
		fprintf(file, " (irq %s, thread %s", FORMAT_TIME(spike->irq_ns),
			FORMAT_TIME(spike->thread_ns));
	if (spike->thread_ns && spike->user_ns)
		fprintf(file, ", user %s", FORMAT_TIME(spike->user_ns));
	fprintf(file, "%s\n", spike->thread_ns ? ")" : "");
	if (spike->label[0])
		fprintf(file, "  %-12s %s\n", "label", CLEAN_TO(80, spike->label));
	if (spike->kind >= PERF_POKE_TRIGGER_WAKEUP) {
		fprintf(file, "  %-12s %s\n",
			spike->kind == PERF_POKE_TRIGGER_WAKEUP ? "ran instead" : "late",
			format_task(task, sizeof(task), spike));
		return;
	}
	if (spike->function_name)
		fprintf(file, "  %-12s %s\n", "timer", CLEAN(spike->function_name));
	else if (!spike->rtla)
		fprintf(file, "  %-12s 0x%" PRIx64 "\n", "timer", spike->function);
	fprintf(file, "  %-12s %s\n", "interrupted", format_task(task, sizeof(task), spike));
	print_noise(file, spike);
}

/* Events are counted; Intel PT is measured in bytes. */
static void print_history(FILE *file, const struct perf_poke_capture *capture)
{
	bool known = capture->history_ns != UINT64_MAX;

	fprintf(file, "  %-12s %s, ", "history",
		known ? FORMAT_TIME(capture->history_ns) : "unknown length");
	if (capture->trace_bytes)
		fprintf(file, "%s of trace, %s (%s)\n", FORMAT_SIZE(capture->trace_bytes),
			FORMAT_SIZE(capture->size), capture->recorder);
	else
		fprintf(file, "%s, %" PRIu64 " lost, %s (%s)\n",
			FORMAT_COUNT(capture->events, "event", "events"), capture->lost,
			FORMAT_SIZE(capture->size), capture->recorder);
}

static void print_skid(FILE *file, const struct perf_poke_capture *capture)
{
	fprintf(file, "  %-12s %s, re-armed after %s\n", "skid", FORMAT_TIME(capture->skid_ns),
		FORMAT_TIME(capture->blind_ns));
}

/* The commands that show the capture. */
static int print_place(FILE *file, const struct perf_poke_capture *capture)
{
	_cleanup_free_ char *data = strfmt("%s/perf.data", capture->path);
	_cleanup_free_ char *folder_word = NULL;
	_cleanup_free_ char *data_word = NULL;

	if (!data || text_shell_word(capture->path, &folder_word) ||
	    text_shell_word(data, &data_word))
		return -ENOMEM;
	fprintf(file, "  %-12s perf-poke-ctl report %s\n", "why", folder_word);
	if (!strcmp(capture->recorder, "none"))
		return 0;
	fprintf(file, "  %-12s perf-poke-ctl script %s\n", "open", folder_word);
	fprintf(file, "  %-12s perf script -i %s\n", "", data_word);
	return 0;
}

static int print_capture(FILE *file, size_t number, const struct perf_poke_capture *capture)
{
	fprintf(file, "\ncapture %zu: %s\n", number, CLEAN_TO(PATH_MAX, capture->path));
	print_spike(file, capture->spike);
	/* The poked perf has the trace. */
	if (!strcmp(capture->recorder, "perf"))
		return 0;
	if (strcmp(capture->recorder, "none")) {
		print_history(file, capture);
		print_skid(file, capture);
	}
	return print_place(file, capture);
}

static int print_perf(FILE *file, const struct result_perf *perf)
{
	if (!perf->pid)
		return 0;
	fprintf(file, "\nperf %d: exit status %d\n", perf->pid, perf->status);
	for (size_t i = 0; i < perf->data.nr; i++) {
		_cleanup_free_ char *word = NULL;

		if (text_shell_word(perf->data.files[i].path, &word))
			return -ENOMEM;
		fprintf(file, "  %-12s perf script -i %s\n", i ? "" : "open", word);
	}
	return 0;
}

/* Such as "10 kept (1,3-11)". */
static int print_kept(FILE *file, const struct results *results)
{
	_cleanup_free_ int *numbers = calloc(results->nr_captures + 1, sizeof(*numbers));
	_cleanup_free_ char *list = NULL;

	for (size_t i = 0; numbers && i < results->nr_captures; i++)
		numbers[i] = (int)results_number(results, i);
	if (!numbers || cpulist_format(numbers, results->nr_captures, &list))
		return -ENOMEM;
	fprintf(file, "%zu kept%s%s%s, ", results->nr_captures, *list ? " (" : "", list,
		*list ? ")" : "");
	return 0;
}

int report_print(FILE *file, const struct results *results)
{
	const struct result_row *all = &results->kinds[PERF_POKE_TRIGGER_IRQ].all;
	int r;

	print_tables(file, results);
	if (all->nr_buckets)
		fputc('\n', file);
	histogram_print(file, all->buckets, all->nr_buckets);
	print_notes(file, &all->stats);
	print_unpaired(file, &results->kinds[PERF_POKE_TRIGGER_SPAN].all.stats);
	for (size_t i = 0; i < results->nr_captures; i++) {
		r = print_capture(file, results_number(results, i), &results->captures[i]);
		if (r)
			return r;
	}
	r = print_perf(file, &results->perf);
	if (r)
		return r;
	fprintf(file, "\ncaptures: %zu complete, ", results_taken(results));
	if (results->keeps)
		r = print_kept(file, results);
	if (results->known)
		fprintf(file, "%zu of known causes removed, %zu of new ones, %zu not judged, ",
			results->nr_known, results->nr_new, results->nr_unjudged);
	fprintf(file, "%zu failed, in %s\n", results->nr_failed, FORMAT_TIME(results->elapsed_ns));
	return r;
}
