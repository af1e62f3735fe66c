// SPDX-License-Identifier: GPL-2.0-only
#include "top.h"

#include <inttypes.h>

#include "json.h"
#include "units.h"

#define KINDS (PERF_POKE_TRIGGER_WAKEUP + 1)

static bool is_watched(const struct perf_poke *pp, enum perf_poke_trigger_kind kind)
{
	struct perf_poke_stats stats = { .sz = sizeof(stats) };

	return !perf_poke__kind_stats(pp, kind, ALL_CPUS, &stats);
}

static void print_heads(FILE *file, const struct perf_poke *pp)
{
	fprintf(file, "%12s", "");
	for (int kind = 0; kind < KINDS; kind++) {
		if (is_watched(pp, kind))
			fprintf(file, " | %-44s %7s", kind_name(kind), "");
	}
	fprintf(file, "\n%3s %8s", "CPU", "count");
	for (int kind = 0; kind < KINDS; kind++) {
		if (is_watched(pp, kind))
			fprintf(file, " | %8s %8s %8s %8s %8s %7s", "cur", "min", "avg", "p99",
				"max", "spikes");
	}
	fputc('\n', file);
}

static int print_cell(FILE *file, const struct perf_poke *pp, int kind, int cpu)
{
	struct perf_poke_stats stats = { .sz = sizeof(stats) };
	uint64_t p99_ns;
	int r = perf_poke__kind_stats(pp, kind, cpu, &stats);

	if (!r)
		r = perf_poke__kind_percentile(pp, kind, cpu, 99, &p99_ns);
	if (r)
		return r == -ENXIO ? 0 : r;
	if (kind == PERF_POKE_TRIGGER_IRQ)
		fprintf(file, "%3d %8" PRIu64, cpu, stats.count);
	if (!stats.count)
		fprintf(file, " | %8s %8s %8s %8s %8s", "-", "-", "-", "-", "-");
	else
		fprintf(file, " | %8s %8s %8s %8s %8s", FORMAT_TIME(stats.last_ns),
			FORMAT_TIME(stats.min_ns), FORMAT_TIME(stats.sum_ns / stats.count),
			FORMAT_TIME(p99_ns), FORMAT_TIME(stats.max_ns));
	fprintf(file, " %7" PRIu64, stats.spikes);
	return 0;
}

int top_print(FILE *file, const struct perf_poke *pp, const struct top_state *state)
{
	const int *cpus;
	size_t nr;
	int r = 0;

	cpus = perf_poke__cpus(pp, &nr);
	fprintf(file, "%s, %zu captures", FORMAT_TIME(state->elapsed_ns), state->captures);
	if (state->skid_ns)
		fprintf(file, ", skid of the last %s", FORMAT_TIME(state->skid_ns));
	fputc('\n', file);
	print_heads(file, pp);
	for (size_t i = 0; i < nr && !r; i++) {
		for (int kind = 0; kind < KINDS && !r; kind++)
			r = print_cell(file, pp, kind, cpus[i]);
		fputc('\n', file);
	}
	return r;
}
