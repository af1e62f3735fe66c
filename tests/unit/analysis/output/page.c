// SPDX-License-Identifier: GPL-2.0-only
/* A page with a made-up timeline, for page.py. usage: page FILE SLICES */

#include "analysis/timeline.h"
#include "output/output.h"

#define HOSTILE "</script><img src=x onerror=document.title=1><!--<script>"

static int add_calls(struct spans *spans, uint32_t nr)
{
	char name[64];
	int r = 0;

	/* Of 1us, each with one in it, from 0 on. */
	for (uint32_t i = 0; i < nr / 2 && !r; i++) {
		snprintf(name, sizeof(name), "function_%u", i % 997);
		r = spans_begin(spans, LANE_CODE, 1000 * i, SPAN_FUNCTION, name);
		if (!r)
			r = spans_begin(spans, LANE_CODE, 1000 * i + 300,
					i % 100 ? SPAN_FUNCTION : SPAN_INTERRUPT, "inner");
		/* Activations of the timer. */
		if (!r && i % 9000 == 0)
			r = spans_begin(spans, LANE_CODE, 1000 * i + 400, SPAN_FUNCTION, HOSTILE);
		if (r)
			return r;
		if (i % 9000 == 0)
			spans_end(spans, LANE_CODE, 1000 * i + 500);
		spans_end(spans, LANE_CODE, 1000 * i + 600);
		spans_end(spans, LANE_CODE, 1000 * i + 900)->insns = 5;
	}
	return r;
}

int main(int argc, char **argv)
{
	uint32_t nr = argc == 3 ? (uint32_t)atoi(argv[2]) : 0;
	uint64_t end = 500 * (uint64_t)nr;
	struct account account = {
		.capture = "/tmp/" HOSTILE,
		.window_ns = end,
		.facts = {
			.recorder = PERF_POKE_RECORDER_PT,
			.spike = { .cpu = 1,
				   .expected_ns = end - 100000,
				   .actual_ns = end - 2000,
				   .time_ns = end - 1000,
				   .comm = "</script><b>" },
			.function = HOSTILE,
			.hostname = "\x1b[31m\xff",
		},
	};
	/* In a tail. */
	static const uint64_t counts[] = { 16, 0, 71, 836, 190000, 2, 0, 0, 1 };
	const struct watched watched = {};
	struct comparison comparison = {};
	FILE *file = argc == 3 ? fopen(argv[1], "w") : NULL;
	int r;

	if (!file || nr < 1000 || spans_new(&account.spans))
		return 2;
	account.facts.spike.latency_ns = 98000;
	account.facts.spike.threshold_ns = 30000;
	account.statistics = (struct statistics){ .cpu = 1,
						  .min_ns = 3,
						  .avg_ns = 6000,
						  .p50_ns = 6100,
						  .p99_ns = 7000,
						  .p99_9_ns = 9000,
						  .max_ns = 98000,
						  .spikes = 1,
						  .nr = sizeof(counts) / sizeof(*counts) };
	for (size_t i = 0; i < account.statistics.nr; i++) {
		account.statistics.rows[i].low_ns = i ? 256ull << i : 0;
		account.statistics.rows[i].high_ns = 512ull << i;
		account.statistics.rows[i].count = counts[i];
		account.statistics.count += counts[i];
	}
	account.spans->has_functions = account.spans->has_irqs_off = true;
	r = spans_begin(account.spans, LANE_TASKS, 0, SPAN_THREAD, HOSTILE " 7");
	if (!r)
		r = spans_begin(account.spans, LANE_IRQS_OFF, end - 90000, SPAN_IRQS_OFF, "inner");
	if (!r)
		r = add_calls(account.spans, nr);
	spans_finish(account.spans, end);
	if (!r)
		r = account_finish(&account);
	comparison.here = account;
	if (!r)
		r = comparison_make(&comparison, &watched, 100);
	if (!r)
		r = html_report_write(file, &comparison.here, &comparison);
	if (fclose(file))
		r = -EIO;
	comparison_release(&comparison);
	return r ? 1 : 0;
}
