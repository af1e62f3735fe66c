// SPDX-License-Identifier: GPL-2.0-only
#include "session/counted.h"

#include <string.h>

#include "cli/words.h"
#include "test.h"

/* Statistics of one CPU, 3: `spikes`, and those of the buckets from 32, 64 and 128 us on. */
static struct results make(uint64_t spikes, uint64_t low, uint64_t middle, uint64_t high)
{
	const struct perf_poke_bucket buckets[] = {
		{ 1000, 32000, 500 },
		{ 32000, 64000, low },
		{ 64000, 128000, middle },
		{ 128000, UINT64_MAX, high },
	};
	struct results results = { .nr_rows = 1 };
	struct result_kind *irq = &results.kinds[PERF_POKE_TRIGGER_IRQ];

	irq->rows = calloc(1, sizeof(*irq->rows));
	assert_non_null(irq->rows);
	irq->rows->cpu = 3;
	irq->rows->stats.spikes = irq->all.stats.spikes = spikes;
	irq->rows->stats.max_ns = high ? 200000 : 100000;
	irq->rows->nr_buckets = ARRAY_SIZE(buckets);
	irq->rows->buckets = memcpy(malloc(sizeof(buckets)), buckets, sizeof(buckets));
	return results;
}

static void capture(struct counted *c, uint64_t time_ns, uint64_t latency_ns)
{
	const struct perf_poke_spike spike = { .time_ns = time_ns,
					       .latency_ns = latency_ns,
					       .cpu = 3 };

	assert_int_equal(counted_capture(c, &spike), 0);
}

/* Ends an interval; returns the spikes of the one before, whose worst is to be `worst_ns`. */
static uint64_t end(struct counted *c, struct results now, uint64_t now_ns, bool last,
		    uint64_t worst_ns)
{
	struct counted_spike worst = { 0 };
	uint64_t nr = counted_take(c, &now, now_ns, last, &worst);

	assert_int_equal(worst.latency_ns, worst_ns);
	if (nr)
		assert_int_equal(worst.cpu, 3);
	return nr;
}

TEST(tells_what_was_not_captured)
{
	struct counted c = { 0 };

	/* Of three spikes one is captured, the worst. */
	capture(&c, 5, 150000);
	assert_int_equal(end(&c, make(3, 1, 1, 1), 10, false, 0), 0);
	assert_int_equal(end(&c, make(3, 1, 1, 1), 20, false, 127999), 2);
	assert_int_equal(end(&c, make(3, 1, 1, 1), 30, false, 0), 0);
	/* Of all time the worst is 200 us, of the last two spikes it is not. */
	assert_int_equal(end(&c, make(5, 3, 1, 1), 40, true, 63999), 2);
	counted_release(&c);
}

TEST(waits_for_a_capture_that_is_written)
{
	struct counted c = { 0 };

	assert_int_equal(end(&c, make(1, 1, 0, 0), 10, false, 0), 0);
	/* Reported after the interval of its spike. */
	capture(&c, 9, 40000);
	assert_int_equal(end(&c, make(1, 1, 0, 0), 20, false, 0), 0);
	assert_int_equal(end(&c, make(1, 1, 0, 0), 30, true, 0), 0);
	counted_release(&c);
}

TEST(tells_no_spike_twice)
{
	struct counted c = { 0 };

	assert_int_equal(end(&c, make(1, 1, 0, 0), 10, false, 0), 0);
	assert_int_equal(end(&c, make(1, 1, 0, 0), 20, false, 63999), 1);
	/* A capture that took longer was told already. */
	capture(&c, 9, 40000);
	assert_int_equal(end(&c, make(2, 2, 0, 0), 30, false, 0), 0);
	assert_int_equal(end(&c, make(3, 3, 0, 0), 40, true, 63999), 1);
	counted_release(&c);
}

TEST(tells_captures_that_were_dropped)
{
	struct perf_poke_spike known = { .time_ns = 5, .latency_ns = 70123, .cpu = 3 };
	struct counted c = { 0 };

	assert_int_equal(counted_capture(&c, &known), 0);
	counted_drop(&c, &known);
	/* The worst of all is told. */
	known.latency_ns = 90123;
	assert_int_equal(counted_capture(&c, &known), 0);
	counted_drop(&c, &known);
	assert_int_equal(end(&c, make(2, 0, 2, 0), 10, true, 90123), 2);
	counted_release(&c);
}

TEST(makes_an_entry)
{
	const struct counted_spike worst = { .latency_ns = 83245, .cpu = 3 };
	_cleanup_free_ char *message = NULL;
	char **fields = NULL;

	assert_int_equal(counted_entry(17, &worst, "night", &message, &fields), 0);
	assert_string_equal(message,
			    "17 spikes without a capture, the worst 83.2us on CPU 3 (irq)");
	assert_string_equal(fields[0], "PERF_POKE_SESSION=night");
	assert_string_equal(fields[1], "PERF_POKE_SPIKES=17");
	assert_string_equal(fields[2], "PERF_POKE_CPU=3");
	assert_string_equal(fields[3], "PERF_POKE_LATENCY_NS=83245");
	assert_string_equal(fields[4], "PERF_POKE_TRIGGER=irq");
	assert_null(fields[5]);
	words_freep(&fields);
}
