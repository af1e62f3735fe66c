// SPDX-License-Identifier: GPL-2.0-only
#include "session/top.h"

#include <inttypes.h>

#include "units.h"

static int session_cell(const void *ctx, enum perf_poke_trigger_kind kind, size_t i,
			struct perf_poke_stats *stats, uint64_t *p99_ns)
{
	const struct perf_poke *pp = ctx;
	size_t nr;
	int cpu = perf_poke__cpus(pp, &nr)[i], r;

	r = perf_poke__stats(pp, kind, cpu, stats);
	return r ? r : perf_poke__percentile(pp, kind, cpu, 99, p99_ns);
}

static bool is_watched(const struct top_table *table, enum perf_poke_trigger_kind kind)
{
	struct perf_poke_stats stats = { .sz = sizeof(stats) };
	uint64_t p99_ns;

	return table->nr && !table->cell(table->ctx, kind, 0, &stats, &p99_ns);
}

static void print_heads(FILE *file, const struct top_table *table)
{
	fprintf(file, "%12s", "");
	for (int kind = 0; kind < KINDS_MAX; kind++) {
		if (is_watched(table, kind))
			fprintf(file, " | %-44s %7s", kind_name(kind), "");
	}
	fprintf(file, "\n%3s %8s", "CPU", "count");
	for (int kind = 0; kind < KINDS_MAX; kind++) {
		if (is_watched(table, kind))
			fprintf(file, " | %8s %8s %8s %8s %8s %7s", "cur", "min", "avg", "p99",
				"max", "spikes");
	}
	fputc('\n', file);
}

static int print_cell(FILE *file, const struct top_table *table, int kind, size_t i)
{
	struct perf_poke_stats stats = { .sz = sizeof(stats) };
	uint64_t p99_ns;
	int r = table->cell(table->ctx, kind, i, &stats, &p99_ns);

	if (r)
		return r == -ENXIO ? 0 : r;
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

int top_print_table(FILE *file, const struct top_table *table)
{
	int r = 0;

	print_heads(file, table);
	for (size_t i = 0; i < table->nr && !r; i++) {
		for (int kind = 0; kind < KINDS_MAX && !r; kind++)
			r = print_cell(file, table, kind, i);
		fputc('\n', file);
	}
	return r;
}

int top_print(FILE *file, const struct perf_poke *pp, const struct top_state *state)
{
	struct top_table table = { .cell = session_cell, .ctx = pp };

	table.cpus = perf_poke__cpus(pp, &table.nr);
	fprintf(file, "%s, %zu captures", FORMAT_TIME(state->elapsed_ns), state->captures);
	if (state->skid_ns)
		fprintf(file, ", skid of the last %s", FORMAT_TIME(state->skid_ns));
	fputc('\n', file);
	return top_print_table(file, &table);
}
