// SPDX-License-Identifier: GPL-2.0-only
#include "session/session_internal.h"

#include <string.h>

#include "cli/cli.h"
#include "test.h"

/* As the program writes it: one line. */
static void show(FILE *file, const char *title, json_object *object)
{
	struct console con = { .out = file };

	fprintf(file, "# %s\n", title);
	console_use_json(&con, true);
	json_print_line(&con, object);
}

static const struct perf_poke_trigger triggers[] = { { PERF_POKE_TRIGGER_THREAD, 5 },
						     { PERF_POKE_TRIGGER_IRQ, 0 } };

static void show_armed(FILE *file)
{
	const struct perf_poke_target targets[] = { { .pid = 7 }, { .pid = 8 } };
	const int cpus[] = { 1, 3 };
	struct perf_poke_opts opts = { .threshold_ns = 30000, .targets = targets, .nr_targets = 2 };

#define ARMED json_armed_line(cpus, 2, &opts, "me", "events", "none", "relay")
	show(file, "armed", ARMED);
	opts.triggers = triggers;
	opts.nr_triggers = ARRAY_SIZE(triggers);
	show(file, "armed, with triggers", ARMED);
#undef ARMED
}

/* The library's, whose tests have all fields. */
char *perf_poke__capture_json(const struct perf_poke_capture *capture)
{
	return strdup("{\"lost\":14,\"path\":\"a/b\",\"buckets\":[[1,2,3]],\"spike\":{"
		      "\"latency_ns\":18446744073709551615,\"comm\":\"a\",\"stack\":[]}}");
}

static void show_captures(FILE *file)
{
	struct perf_poke_capture capture = {};

	show(file, "capture", json_capture_line(&capture));
	capture.error = -ENOSPC;
	show(file, "failed capture", json_capture_line(&capture));
	show(file, "removed", json_removed_line("a/1"));
}

static void show_summaries(FILE *file)
{
	struct perf_poke_bucket buckets[] = { { 1, 2, 7 }, { 2, UINT64_MAX, 1 } };
	struct result_row row = {
		.cpu = 3,
		.stats = { .count = 8,
			   .sum_ns = 80,
			   .min_ns = 1,
			   .max_ns = 2,
			   .spikes = 3,
			   .unarmed = 4 },
		.p50_ns = 5,
		.p99_ns = 6,
		.p999_ns = 7,
		.buckets = buckets,
		.nr_buckets = ARRAY_SIZE(buckets),
	};
	const struct perf_poke_capture capture = {
		.path = "a/2",
		.spike = &(struct perf_poke_spike){ .cpu = 3,
						    .latency_ns = 77,
						    .kind = PERF_POKE_TRIGGER_THREAD },
	};
	const struct perf_poke_capture gone = { .path = "a/1", .spike = capture.spike };
	char *command[] = { (char[]){ "perf" }, (char[]){ "re\377cord" }, NULL };
	struct perf_file data = { .path = (char[]){ "a b" } };
	struct results results = { .kinds[0].all.cpu = ALL_CPUS, .elapsed_ns = 9 };

	assert_int_equal(results_add_capture(&results, &gone), 0);
	assert_int_equal(results_add_capture(&results, &capture), 0);
	results_remove_capture(&results, "a/1");
	results.kinds[0].rows = &row;
	results.nr_rows = 1;
	show(file, "summary", json_summary_line(&results));
	results.perf = (struct result_perf){
		.pid = 7, .command = command, .status = 130, .data = { &data, 1 }
	};
	show(file, "summary with perf", json_summary_line(&results));
	memset(&results.perf, 0, sizeof(results.perf));
	row.nr_buckets = 0;
	results.kinds[PERF_POKE_TRIGGER_USER].rows = &row;
	show(file, "summary of two kinds", json_summary_line(&results));
	results.kinds[PERF_POKE_TRIGGER_USER].rows = NULL;
	results.kinds[0].rows = NULL;
	results.nr_rows = 0;
	results_release(&results);
}

static void show_checks(FILE *file)
{
	const struct perf_poke_capability capability = {
		.name = "btf",
		.purpose = "p",
		.detail = "d",
		.remedy = "r",
		.have = true,
	};
	json_object *line = json_typed_object("error");

	json_add_text(line, "message", "a \"b\"\n\377");
	show(file, "error", line);
	show(file, "capability", json_capability_line(&capability));
	show(file, "check", json_check_line(false));
}

static void show_sessions(FILE *file)
{
	const struct perf_poke_stats stats = { .count = 4,
					       .sum_ns = 20,
					       .min_ns = 1,
					       .max_ns = 7,
					       .spikes = 2,
					       .unarmed = 3,
					       .last_ns = 6 };
	const struct perf_poke_stats *const rows[] = { &stats };
	const struct perf_poke_session_kind kinds[] = {
		{ .stats = &stats,
		  .cpu_stats = rows,
		  .cpu_p99_ns = (const uint64_t[]){ 98 },
		  .p50_ns = 96,
		  .p99_ns = 97,
		  .p999_ns = 99 },
		{ .kind = PERF_POKE_TRIGGER_USER,
		  .threshold_ns = 60,
		  .stats = &(struct perf_poke_stats){ 0 },
		  .cpu_stats = rows,
		  .cpu_p99_ns = (const uint64_t[]){ 198 },
		  .p999_ns = 199 },
	};
	struct perf_poke_session session = {
		.name = "noon",
		.threshold_ns = 30,
		.pid = 7,
		.cpus = (const int[]){ 3 },
		.nr_cpus = 1,
		.kinds = (const struct perf_poke_session_kind *[]){ &kinds[0], &kinds[1] },
		.nr_kinds = ARRAY_SIZE(kinds),
		.function = "any",
		.recorder = "events",
		.freeze = "",
		.delivery = "",
		.workload = "none",
		.output = "/o",
		.last_capture = "",
		.max_captures = UINT64_MAX,
		.armed_for_ns = 10,
		.pokes = 11,
		.merged = 12,
		.captures = 13,
		.failed = 14,
		.pending = 15,
		.targets = (const int[]){ 8, 9 },
		.nr_targets = 2,
	};

	show(file, "session", json_session_line(&session));
	session.nr_kinds = session.nr_cpus = 0;
	session.max_captures = 5;
	session.freeze = "pause";
	session.last_capture = "/o/1";
	session.alive = true;
	show(file, "session, alive, with a limit", json_session_line(&session));
}

GOLDEN(PART(show_armed), PART(show_captures), PART(show_summaries), PART(show_checks),
       PART(show_sessions))
