// SPDX-License-Identifier: GPL-2.0-only
#include "session/session_internal.h"

#include <inttypes.h>
#include <limits.h>
#include <string.h>

#include "cpulist.h"
#include "task.h"
#include "text.h"
#include "units.h"

static void summary_print_row(FILE *file, const struct result_row *row)
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

static void summary_print_tables(FILE *file, const struct results *results)
{
	fprintf(file, "%5s %12s %8s %8s %8s %8s %8s %8s %8s\n", "CPU", "expiries", "min", "avg",
		"p50", "p99", "p99.9", "max", "spikes");
	for (size_t kind = 0; kind < KINDS_MAX; kind++) {
		const struct result_kind *one = &results->kinds[kind];

		if (!one->rows)
			continue;
		if (kind)
			fprintf(file, "\n%5s %12s\n", "", kind_display_name(kind));
		for (size_t i = 0; i < results->nr_rows; i++)
			summary_print_row(file, &one->rows[i]);
		if (results->nr_rows > 1)
			summary_print_row(file, &one->all);
	}
}

static void summary_print_notes(FILE *file, const struct perf_poke_stats *irq,
				const struct perf_poke_stats *span)
{
	const struct {
		uint64_t nr;
		const char *one, *many;
	} unpaired[] = {
		{ span->not_entered, "exit without an entry", "exits without an entry" },
		{ span->reentered, "entry in an open span", "entries in an open span" },
		{ span->thread_died, "thread that ended before its exit",
		  "threads that ended before their exit" },
		{ span->no_room, "entry with too many spans open",
		  "entries with too many spans open" },
	};
	const char *separator = "\nnote: not measured as spans: ";

	if (irq->missed)
		fprintf(file, "\nnote: %s missed: the trigger was already running on that CPU\n",
			FORMAT_COUNT(irq->missed, "expiry", "expiries"));
	if (irq->unarmed)
		fprintf(file, "\nnote: %s occurred during a capture and %s not recorded\n",
			FORMAT_COUNT(irq->unarmed, "spike", "spikes"),
			irq->unarmed == 1 ? "was" : "were");
	for (size_t i = 0; i < ARRAY_SIZE(unpaired); i++) {
		if (!unpaired[i].nr)
			continue;
		fprintf(file, "%s%s", separator,
			FORMAT_COUNT(unpaired[i].nr, unpaired[i].one, unpaired[i].many));
		separator = ", ";
	}
	if (*separator == ',')
		fputc('\n', file);
}

/* Each one's share of the time from the interrupt to the last known latency. */
static void summary_print_noise(FILE *file, const struct perf_poke_spike *spike)
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

const char *format_ran_cpu(char *buf, size_t size, const struct perf_poke_spike *spike)
{
	buf[0] = '\0';
	if (spike->ran_cpu != spike->cpu)
		snprintf(buf, size, ", ran on CPU %d%s", spike->ran_cpu,
			 spike->ran_watched ? "" : " (not watched)");
	return buf;
}

/* Where that is much, as the CPU is the watched one. */
static void summary_print_cost(FILE *file, const struct perf_poke_spike *spike)
{
	if (spike->threshold_ns > 1 && spike->stack_ns > spike->threshold_ns / 10)
		fprintf(file, "  %-12s %s on CPU %d, after the spike (--no-stack)\n", "stacks took",
			FORMAT_TIME(spike->stack_ns), spike->ran_cpu);
}

static void summary_print_spike(FILE *file, const struct perf_poke_spike *spike)
{
	char task[64], ran[64];

	if (spike->poked) {
		fprintf(file, "  %-12s poked\n", "reason");
		return;
	}
	if (spike->kind == PERF_POKE_TRIGGER_INTERRUPTION)
		task_format_name(task, sizeof(task), false, CLEAN(spike->late_comm),
				 spike->late_pid, spike->late_tid);
	else
		task_format_name(task, sizeof(task), spike->idle, CLEAN(spike->comm), spike->pid,
				 spike->tid);
	fprintf(file, "  %-12s %s on CPU %d%s", "latency", FORMAT_TIME(spike->latency_ns),
		spike->cpu, format_ran_cpu(ran, sizeof(ran), spike));
	if (spike->kind)
		fprintf(file, ", of the %s", kind_display_name(spike->kind));
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
			spike->kind == PERF_POKE_TRIGGER_WAKEUP		? "ran instead"
			: spike->kind == PERF_POKE_TRIGGER_INTERRUPTION ? "interrupted"
									: "late",
			task);
		return;
	}
	if (spike->function_name)
		fprintf(file, "  %-12s %s\n", "timer", CLEAN(spike->function_name));
	else if (!spike->rtla)
		fprintf(file, "  %-12s 0x%" PRIx64 "\n", "timer", spike->function);
	fprintf(file, "  %-12s %s\n", "interrupted", task);
	summary_print_noise(file, spike);
}

/* Events are counted; Intel PT is measured in bytes. */
static void summary_print_history(FILE *file, const struct perf_poke_capture *capture)
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

static int summary_print_capture(FILE *file, size_t number, const struct perf_poke_capture *capture)
{
	const bool is_ftrace = !strcmp(capture->recorder, "ftrace");
	_cleanup_free_ char *data =
		strfmt("%s/%s", capture->path, is_ftrace ? "trace.dat" : "perf.data");
	bool has_trace = strcmp(capture->recorder, "none");
	_cleanup_free_ char *folder_word = NULL;
	_cleanup_free_ char *data_word = NULL;

	fprintf(file, "\ncapture %zu: %s\n", number, CLEAN_TO(PATH_MAX, capture->path));
	summary_print_spike(file, capture->spike);
	/* The poked perf has the trace. */
	if (!strcmp(capture->recorder, "perf"))
		return 0;
	if (has_trace) {
		summary_print_history(file, capture);
		fprintf(file, "  %-12s %s, re-armed after %s\n", "skid",
			FORMAT_TIME(capture->skid_ns), FORMAT_TIME(capture->blind_ns));
	}
	summary_print_cost(file, capture->spike);
	/* The commands that show the capture. */
	if (!data || text_shell_word(capture->path, &folder_word) ||
	    text_shell_word(data, &data_word))
		return -ENOMEM;
	fprintf(file, "  %-12s perf-poke-ctl report %s\n", "why", folder_word);
	if (is_ftrace)
		fprintf(file, "  %-12s trace-cmd report %s\n", "open", data_word);
	else if (has_trace)
		fprintf(file,
			"  %-12s perf-poke-ctl script %s\n"
			"  %-12s perf script -i %s\n",
			"open", folder_word, "", data_word);
	return 0;
}

static int summary_print_perf(FILE *file, const struct result_perf *perf)
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

int summary_print(FILE *file, const struct results *results)
{
	const struct result_row *all = &results->kinds[PERF_POKE_TRIGGER_IRQ].all;
	_cleanup_free_ int *numbers = NULL;
	_cleanup_free_ char *list = NULL;
	int err;

	summary_print_tables(file, results);
	if (all->nr_buckets)
		fputc('\n', file);
	histogram_print(file, all->buckets, all->nr_buckets);
	sources_print(file, results->sources.rows, results->sources.nr);
	summary_print_notes(file, &all->stats, &results->kinds[PERF_POKE_TRIGGER_SPAN].all.stats);
	for (size_t i = 0; i < results->nr_captures; i++) {
		err = summary_print_capture(file, results_capture_number(results, i),
					    &results->captures[i]);
		if (err)
			return err;
	}
	err = summary_print_perf(file, &results->perf);
	if (err)
		return err;
	fprintf(file, "\ncaptures: %zu complete, ", results_count_taken(results));
	if (results->keeps) {
		numbers = calloc(results->nr_captures + 1, sizeof(*numbers));
		for (size_t i = 0; numbers && i < results->nr_captures; i++)
			numbers[i] = (int)results_capture_number(results, i);
		if (!numbers || cpulist_format(numbers, results->nr_captures, &list))
			return -ENOMEM;
		/* Such as "10 kept (1,3-11)". */
		fprintf(file, "%zu kept%s%s%s, ", results->nr_captures, *list ? " (" : "", list,
			*list ? ")" : "");
	}
	if (results->known)
		fprintf(file, "%zu of known causes removed, %zu of new ones, %zu not judged, ",
			results->nr_known, results->nr_new, results->nr_unjudged);
	fprintf(file, "%zu failed, in %s\n", results->nr_failed, FORMAT_TIME(results->elapsed_ns));
	return 0;
}

/*
 * Rows end at powers of two, like the library's buckets. All latencies below the first power share
 * a row: they do not matter for tuning.
 */
#define FIRST_POWER 9

static int histogram_highest_bit(uint64_t value)
{
	return value ? 63 - __builtin_clzll(value) : -1;
}

/* Each row but the first spans this many octaves. */
static int histogram_row_of(uint64_t latency_ns, int octaves)
{
	int power = histogram_highest_bit(latency_ns);

	return power < FIRST_POWER ? 0 : (power - FIRST_POWER) / octaves + 1;
}

static uint64_t histogram_row_start(int row, int octaves)
{
	int power = FIRST_POWER + (row - 1) * octaves;

	if (row == 0)
		return 0;
	return power < 64 ? UINT64_C(1) << power : UINT64_MAX;
}

void histogram_print(FILE *file, const struct perf_poke_bucket *buckets, size_t nr)
{
	static const char bar[] =
		"################################################################";
	int octaves = 1, first, last;
	size_t at = 0;

	if (!nr)
		return;
	while (histogram_row_of(buckets[nr - 1].low_ns, octaves) -
		       histogram_row_of(buckets[0].low_ns, octaves) >=
	       HISTOGRAM_MAX_ROWS)
		octaves++;
	first = histogram_row_of(buckets[0].low_ns, octaves);
	last = histogram_row_of(buckets[nr - 1].low_ns, octaves);

	fprintf(file, "  %-19s %12s  %s\n", "latency", "expiries", "each # doubles");
	for (int row = first; row <= last; row++) {
		uint64_t count = 0, low_ns, high_ns;

		for (; at < nr && histogram_row_of(buckets[at].low_ns, octaves) == row; at++)
			count += buckets[at].count;
		low_ns = histogram_row_start(row, octaves);
		high_ns = histogram_row_start(row + 1, octaves);
		/* The bar is logarithmic, so that a single spike among millions is visible. */
		fprintf(file, "  %8s - %-8s %12" PRIu64 "%s%.*s\n", FORMAT_TIME(low_ns),
			high_ns == UINT64_MAX ? "" : FORMAT_TIME(high_ns), count, count ? "  " : "",
			histogram_highest_bit(count) + 1, bar);
	}
}

/* Columns of the CPU with its count, and of each kind. */
#define TOP_FRONT 12
#define TOP_KIND 55

static int top_session_cell(const void *ctx, enum perf_poke_trigger_kind kind, size_t i,
			    struct perf_poke_stats *stats, uint64_t *p99_ns)
{
	const struct perf_poke *pp = ctx;
	size_t nr;
	int cpu = perf_poke__cpus(pp, &nr)[i], r;

	r = perf_poke__stats(pp, kind, cpu, stats);
	return r ? r : perf_poke__percentile(pp, kind, cpu, 99, p99_ns);
}

static bool top_kind_is_watched(const struct top_table *table, enum perf_poke_trigger_kind kind)
{
	struct perf_poke_stats stats = { .sz = sizeof(stats) };
	uint64_t p99_ns;

	return table->nr && !table->cell(table->ctx, kind, 0, &stats, &p99_ns);
}

/* Kinds beside one another. */
struct top_block {
	int begin, end;
};

static void top_print_heads(FILE *file, const struct top_table *table, struct top_block block)
{
	fprintf(file, "%12s", "");
	for (int kind = block.begin; kind < block.end; kind++) {
		if (top_kind_is_watched(table, kind))
			fprintf(file, " | %-44s %7s", kind_display_name(kind), "");
	}
	fprintf(file, "\n%3s %8s", "CPU", block.begin ? "" : "count");
	for (int kind = block.begin; kind < block.end; kind++) {
		if (top_kind_is_watched(table, kind))
			fprintf(file, " | %8s %8s %8s %8s %8s %7s", "cur", "min", "avg", "p99",
				"max", "spikes");
	}
	fputc('\n', file);
}

static int top_print_cell(FILE *file, const struct top_table *table, int kind, size_t i)
{
	struct perf_poke_stats stats = { .sz = sizeof(stats) };
	uint64_t p99_ns;
	int err = table->cell(table->ctx, kind, i, &stats, &p99_ns);

	if (err)
		return err == -ENXIO ? 0 : err;
	if (kind == PERF_POKE_TRIGGER_IRQ)
		fprintf(file, "%3d %8" PRIu64, table->cpus[i], stats.count);
	if (!stats.count)
		fprintf(file, " | %8s %8s %8s %8s %8s", "-", "-", "-", "-", "-");
	else
		fprintf(file, " | %8s %8s %8s %8s %8s", FORMAT_TIME(stats.last_ns),
			FORMAT_TIME(stats.min_ns), FORMAT_TIME(stats.sum_ns / stats.count),
			FORMAT_TIME(p99_ns), FORMAT_TIME(stats.max_ns));
	fprintf(file, " %7" PRIu64, stats.spikes);
	return 0;
}

static int top_print_block(FILE *file, const struct top_table *table, struct top_block block)
{
	int err = 0;

	top_print_heads(file, table, block);
	for (size_t i = 0; i < table->nr && !err; i++) {
		if (block.begin)
			fprintf(file, "%3d %8s", table->cpus[i], "");
		for (int kind = block.begin; kind < block.end && !err; kind++)
			err = top_print_cell(file, table, kind, i);
		fputc('\n', file);
	}
	return err;
}

int top_print_table(FILE *file, const struct top_table *table)
{
	size_t room = table->columns > TOP_FRONT ? (table->columns - TOP_FRONT) / TOP_KIND : 0;
	struct top_block block = { 0, 0 };
	size_t nr = 0;
	int err = 0;

	for (; block.end < KINDS_MAX && !err; block.end++) {
		if (!top_kind_is_watched(table, block.end))
			continue;
		if (nr && table->columns && nr >= room) {
			err = top_print_block(file, table, block);
			block.begin = block.end;
			nr = 0;
		}
		nr++;
	}
	return err ? err : top_print_block(file, table, block);
}

int top_print_session(FILE *file, const struct perf_poke *pp, const struct top_state *state)
{
	struct top_table table = { .columns = state->columns, .cell = top_session_cell, .ctx = pp };
	struct sources sources = { 0 };
	int err;

	table.cpus = perf_poke__cpus(pp, &table.nr);
	fprintf(file, "%s, %zu captures", FORMAT_TIME(state->elapsed_ns), state->captures);
	if (state->skid_ns)
		fprintf(file, ", skid of the last %s", FORMAT_TIME(state->skid_ns));
	fputc('\n', file);
	err = top_print_table(file, &table);
	if (!err)
		err = sources_collect(&sources, pp, false);
	if (!err)
		sources_print(file, sources.rows, sources.nr);
	sources_release(&sources);
	return err;
}
