// SPDX-License-Identifier: GPL-2.0-only
#include "session/counted.h"

#include <inttypes.h>

#include "array.h"
#include "cli/words.h"
#include "strfmt.h"
#include "units.h"

static struct counted_spike spike_of(const struct perf_poke_spike *spike)
{
	return (struct counted_spike){ spike->time_ns, spike->latency_ns, spike->kind, spike->cpu };
}

int counted_capture(struct counted *c, const struct perf_poke_spike *spike)
{
	if (array_grow(&c->captures, c->nr, sizeof(*c->captures)))
		return -ENOMEM;
	c->captures[c->nr++] = spike_of(spike);
	return 0;
}

void counted_drop(struct counted *c, const struct perf_poke_spike *spike)
{
	c->dropped++;
	if (!c->latest.time_ns || spike->latency_ns > c->latest.latency_ns)
		c->latest = spike_of(spike);
}

static uint64_t count_spikes(const struct results *results)
{
	uint64_t spikes = 0;

	for (size_t kind = 0; kind < KINDS_MAX; kind++) {
		if (results->kinds[kind].rows)
			spikes += results->kinds[kind].all.stats.spikes;
	}
	return spikes;
}

/* Number of captures in the bucket. */
static uint64_t count_captured(const struct counted *c, enum perf_poke_trigger_kind kind, int cpu,
			       const struct perf_poke_bucket *bucket)
{
	uint64_t nr = 0;

	for (size_t i = 0; i < c->nr; i++) {
		const struct counted_spike *spike = &c->captures[i];

		nr += spike->time_ns <= c->seen_ns && spike->kind == kind && spike->cpu == cpu &&
		      spike->latency_ns >= bucket->low_ns && spike->latency_ns < bucket->high_ns;
	}
	return nr;
}

static uint64_t count_before(const struct result_row *row, uint64_t low_ns)
{
	for (size_t i = row ? row->nr_buckets : 0; i > 0; i--) {
		if (row->buckets[i - 1].low_ns <= low_ns)
			return row->buckets[i - 1].low_ns == low_ns ? row->buckets[i - 1].count : 0;
	}
	return 0;
}

/* The highest bucket with more latencies since `before` than captures. */
static void worst_of_row(const struct counted *c, enum perf_poke_trigger_kind kind,
			 const struct result_row *row, const struct result_row *before,
			 struct counted_spike *worst)
{
	for (size_t i = row->stats.spikes ? row->nr_buckets : 0; i > 0; i--) {
		const struct perf_poke_bucket *bucket = &row->buckets[i - 1];
		uint64_t max_ns = row->stats.max_ns;

		if (bucket->high_ns <= worst->latency_ns)
			return;
		if (bucket->count <= count_before(before, bucket->low_ns) +
					     count_captured(c, kind, row->cpu, bucket))
			continue;
		*worst = (struct counted_spike){
			.time_ns = c->seen_ns,
			.latency_ns = max_ns < bucket->high_ns ? max_ns : bucket->high_ns - 1,
			.kind = kind,
			.cpu = row->cpu,
		};
		return;
	}
}

static void find_worst(const struct counted *c, struct counted_spike *worst)
{
	*worst = c->latest;
	for (size_t kind = 0; kind < KINDS_MAX; kind++) {
		const struct result_row *rows = c->seen.kinds[kind].rows;
		const struct result_row *before = c->told.kinds[kind].rows;

		for (size_t i = 0; rows && i < c->seen.nr_rows; i++)
			worst_of_row(c, kind, &rows[i], before ? &before[i] : NULL, worst);
	}
}

/* Forgets captures up to told_ns. */
static void forget(struct counted *c)
{
	size_t kept = 0;

	for (size_t i = 0; i < c->nr; i++) {
		if (c->captures[i].time_ns > c->told_ns)
			c->captures[kept++] = c->captures[i];
	}
	c->nr_before += c->nr - kept;
	c->nr = kept;
}

static uint64_t end_interval(struct counted *c, struct counted_spike *worst)
{
	uint64_t spikes = count_spikes(&c->seen) + c->dropped, captures = c->nr_before, nr;

	for (size_t i = 0; i < c->nr; i++)
		captures += c->captures[i].time_ns <= c->seen_ns;
	/* If writing a capture took longer than an interval, its spike was counted as one without a
	 * capture. */
	nr = spikes > captures + c->nr_told ? spikes - captures - c->nr_told : 0;
	if (!nr)
		return 0;
	find_worst(c, worst);
	c->nr_told += nr;
	c->latest = (struct counted_spike){ 0 };
	return nr;
}

uint64_t counted_take(struct counted *c, struct results *now, uint64_t now_ns, bool last,
		      struct counted_spike *worst)
{
	uint64_t nr;

	if (last) {
		results_release(&c->seen);
		c->seen = *now;
		c->seen_ns = now_ns;
		return end_interval(c, worst);
	}
	nr = end_interval(c, worst);
	results_release(&c->told);
	c->told = c->seen;
	c->told_ns = c->seen_ns;
	c->seen = *now;
	c->seen_ns = now_ns;
	forget(c);
	return nr;
}

int counted_entry(uint64_t nr, const struct counted_spike *worst, const char *session,
		  char **message, char ***fields)
{
	const char *kind = kind_name(worst->kind);
	struct words words = { 0 };
	int r;

	words_add(&words, "PERF_POKE_SESSION=%s", session);
	words_add(&words, "PERF_POKE_SPIKES=%" PRIu64, nr);
	words_add(&words, "PERF_POKE_CPU=%d", worst->cpu);
	words_add(&words, "PERF_POKE_LATENCY_NS=%" PRIu64, worst->latency_ns);
	words_add(&words, "PERF_POKE_TRIGGER=%s", kind);
	r = words_take(&words, fields);
	if (r)
		return r;
	*message = strfmt("%s without a capture, the worst %s on CPU %d (%s)",
			  FORMAT_COUNT(nr, "spike", "spikes"), FORMAT_TIME(worst->latency_ns),
			  worst->cpu, kind);
	if (*message)
		return 0;
	words_freep(fields);
	return -ENOMEM;
}

void counted_release(struct counted *c)
{
	results_release(&c->told);
	results_release(&c->seen);
	free(c->captures);
	*c = (struct counted){ 0 };
}
