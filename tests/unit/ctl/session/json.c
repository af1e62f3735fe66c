// SPDX-License-Identifier: GPL-2.0-only
#include "session/json.h"

#include <string.h>

#include "cli/console.h"
#include "cli/json_line.h"
#include "session/adaptive.h"
#include "test.h"

/* Writes an object as the program does, checks that it is one line, and reads it back. */
static json_object *round_trip(json_object *object, const char *type)
{
	struct console con = { .json = true };
	_cleanup_free_ char *text = NULL;
	json_object *read, *value;
	size_t size;

	con.out = open_memstream(&text, &size);
	console_json(&con, object);
	fclose(con.out);
	assert_ptr_equal(strchr(text, '\n'), text + size - 1);

	read = json_tokener_parse(text);
	assert_non_null(read);
	assert_true(json_object_object_get_ex(read, "type", &value));
	assert_string_equal(json_object_get_string(value), type);
	return read;
}

static json_object *get(json_object *object, const char *key)
{
	json_object *value = NULL;

	if (!json_object_object_get_ex(object, key, &value))
		fail_msg("no %s", key);
	return value;
}

static void check_keys(json_object *object, const char *const *keys, size_t nr)
{
	for (size_t i = 0; i < nr; i++)
		get(object, keys[i]);
	assert_int_equal(json_object_object_length(object), nr);
}

TEST(writes_errors)
{
	json_object *read = round_trip(json_error("a \"b\"\n\377"), "error");

	assert_string_equal(json_object_get_string(get(read, "message")), "a \"b\"\n?");
	json_object_put(read);
}

TEST(writes_armed)
{
	static const char *const keys[] = { "type",	"session",  "cpus",	"threshold_ns",
					    "function", "recorder", "workload", "delivery",
					    "targets",	"triggers" };
	const struct perf_poke_target targets[] = { { .pid = 7 }, { .pid = 8 } };
	const struct perf_poke_opts opts = {
		.threshold_ns = 30000,
		.targets = targets,
		.nr_targets = ARRAY_SIZE(targets),
	};
	json_object *read = round_trip(
		json_armed((const int[]){ 1, 3 }, 2, &opts, "me", "events", "none", "relay"),
		"armed");

	check_keys(read, keys, ARRAY_SIZE(keys));
	assert_string_equal(json_object_get_string(get(read, "session")), "me");
	assert_string_equal(json_object_get_string(get(read, "cpus")), "[ 1, 3 ]");
	assert_string_equal(json_object_get_string(get(read, "function")), "any");
	assert_string_equal(json_object_get_string(get(read, "delivery")), "relay");
	assert_string_equal(json_object_get_string(get(read, "targets")), "[ 7, 8 ]");
	assert_string_equal(json_object_get_string(get(read, "triggers")), "{ \"irq\": 30000 }");
	json_object_put(read);
}

/* Thresholds that are yet to be measured are no number. */
TEST(writes_adaptive)
{
	const struct perf_poke_trigger triggers[] = { { PERF_POKE_TRIGGER_THREAD, 5 },
						      { PERF_POKE_TRIGGER_IRQ, 0 } };
	const struct perf_poke_opts opts = { .threshold_ns = ADAPTIVE_NO_FLOOR_NS,
					     .adaptive_percent = 99.9,
					     .triggers = triggers,
					     .nr_triggers = ARRAY_SIZE(triggers) };
	const struct perf_poke_session session = { .name = "noon",
						   .function = "any",
						   .recorder = "events",
						   .freeze = "",
						   .delivery = "",
						   .workload = "none",
						   .output = "/o",
						   .last_capture = "" };
	json_object *read = round_trip(
		json_armed((const int[]){ 1 }, 1, &opts, "me", "events", "none", "relay"), "armed");

	assert_null(get(read, "threshold_ns"));
	assert_string_equal(json_object_get_string(get(read, "triggers")),
			    "{ \"thread\": 5, \"irq\": null }");
	json_object_put(read);
	read = round_trip(json_session(&session), "session");
	assert_null(get(read, "threshold_ns"));
	json_object_put(read);
}

TEST(writes_triggers)
{
	const struct perf_poke_trigger triggers[] = { { PERF_POKE_TRIGGER_THREAD, 5 },
						      { PERF_POKE_TRIGGER_IRQ, 0 } };
	const struct perf_poke_opts opts = { .threshold_ns = 30000,
					     .triggers = triggers,
					     .nr_triggers = ARRAY_SIZE(triggers) };
	const struct perf_poke_capture capture = {
		.spike = { .kind = PERF_POKE_TRIGGER_THREAD, .irq_ns = 7, .thread_ns = 9 },
	};
	json_object *read = round_trip(
		json_armed((const int[]){ 1 }, 1, &opts, "me", "events", "none", "relay"), "armed");

	assert_string_equal(json_object_get_string(get(read, "triggers")),
			    "{ \"thread\": 5, \"irq\": 30000 }");
	json_object_put(read);
	read = round_trip(json_capture(&capture), "capture");
	assert_string_equal(json_object_get_string(get(read, "trigger")), "thread");
	assert_int_equal(json_object_get_int(get(read, "irq_ns")), 7);
	assert_int_equal(json_object_get_int(get(read, "thread_ns")), 9);
	assert_null(get(read, "user_ns"));
	json_object_put(read);
}

TEST(writes_captures)
{
	static const char *const keys[] = {
		"type",	       "error",	   "path",     "recorder",	"sequence",    "poked",
		"rtla",	       "cpu",	   "time_ns",  "latency_ns",	"expected_ns", "actual_ns",
		"timer",       "function", "idle",     "function_name", "pid",	       "tid",
		"comm",	       "skid_ns",  "blind_ns", "history_ns",	"events",      "lost",
		"size_bytes",  "trigger",  "irq_ns",   "thread_ns",	"user_ns",     "ran_cpu",
		"ran_watched",
	};
	struct perf_poke_capture capture = {
		.path = "a/b",
		.recorder = "events",
		.spike = { .latency_ns = UINT64_MAX, .comm = "0123456789abcdef", .cpu = 3 },
	};
	json_object *read = round_trip(json_capture(&capture), "capture");

	check_keys(read, keys, ARRAY_SIZE(keys));
	assert_null(get(read, "error"));
	assert_null(get(read, "function_name"));
	assert_string_equal(json_object_get_string(get(read, "path")), "a/b");
	assert_string_equal(json_object_get_string(get(read, "comm")), "0123456789abcdef");
	assert_true(json_object_get_uint64(get(read, "latency_ns")) == UINT64_MAX);
	json_object_put(read);

	capture.error = -ENOSPC;
	capture.path = NULL;
	read = round_trip(json_capture(&capture), "capture");
	assert_string_equal(json_object_get_string(get(read, "error")), strerror(ENOSPC));
	assert_null(get(read, "path"));
	json_object_put(read);
}

/* Bytes of trace are told of captures that have a trace. */
TEST(writes_traces)
{
	struct perf_poke_capture capture = {
		.recorder = "pt",
		.trace_bytes = 5000,
		.bytes_after_spike = 70,
		.bytes_after_spike_exact = true,
	};
	json_object *read = round_trip(json_capture(&capture), "capture");

	assert_int_equal(json_object_get_int(get(read, "trace_bytes")), 5000);
	assert_int_equal(json_object_get_int(get(read, "bytes_after_spike")), 70);
	assert_true(json_object_get_boolean(get(read, "bytes_after_spike_exact")));
	json_object_put(read);

	capture.bytes_after_spike = UINT64_MAX;
	capture.bytes_after_spike_exact = false;
	read = round_trip(json_capture(&capture), "capture");
	assert_null(get(read, "bytes_after_spike"));
	assert_false(json_object_get_boolean(get(read, "bytes_after_spike_exact")));
	json_object_put(read);
}

TEST(writes_summaries)
{
	static const char *const keys[] = { "type",	  "cpus",     "all",
					    "missed",	  "captures", "failed",
					    "elapsed_ns", "triggers", "kept" };
	static const char *const row_keys[] = { "cpu",	  "count",   "min_ns",	 "avg_ns",
						"p50_ns", "p99_ns",  "max_ns",	 "p99_9_ns",
						"spikes", "unarmed", "histogram" };
	struct perf_poke_bucket buckets[] = { { 1, 2, 7 }, { 2, UINT64_MAX, 1 } };
	struct result_row row = {
		.cpu = 3,
		.stats = { .count = 8, .sum_ns = 80 },
		.buckets = buckets,
		.nr_buckets = ARRAY_SIZE(buckets),
	};
	const struct results results = { .rows = &row, .nr_rows = 1, .all = { .cpu = ALL_CPUS } };
	json_object *read = round_trip(json_summary(&results), "summary"), *cpu, *all;

	check_keys(read, keys, ARRAY_SIZE(keys));
	cpu = json_object_array_get_idx(get(read, "cpus"), 0);
	check_keys(cpu, row_keys, ARRAY_SIZE(row_keys));
	assert_int_equal(json_object_get_int(get(cpu, "avg_ns")), 10);
	assert_string_equal(json_object_get_string(get(cpu, "histogram")),
			    "[ [ 1, 2, 7 ], [ 2, null, 1 ] ]");
	all = get(read, "all");
	assert_false(json_object_object_get_ex(all, "cpu", NULL));
	assert_int_equal(json_object_get_int(get(all, "avg_ns")), 0);
	json_object_put(read);
}

TEST(writes_what_remains)
{
	const struct perf_poke_capture capture = {
		.path = "a/2",
		.spike = { .cpu = 3, .latency_ns = 77, .kind = PERF_POKE_TRIGGER_THREAD },
	};
	const struct perf_poke_capture gone = { .path = "a/1" };
	_cleanup_(results_release) struct results results = { 0 };
	json_object *read;

	assert_int_equal(results_add_capture(&results, &gone), 0);
	assert_int_equal(results_add_capture(&results, &capture), 0);
	results_remove_capture(&results, "a/1");
	read = round_trip(json_summary(&results), "summary");
	assert_int_equal(json_object_get_int(get(read, "captures")), 2);
	assert_string_equal(
		json_object_to_json_string_ext(get(read, "kept"), JSON_C_TO_STRING_PLAIN),
		"[{\"number\":2,\"path\":\"a\\/2\",\"cpu\":3,\"latency_ns\":77,"
		"\"trigger\":\"thread\"}]");
	json_object_put(read);
	read = round_trip(json_removed("a/1"), "removed");
	assert_string_equal(json_object_get_string(get(read, "path")), "a/1");
	json_object_put(read);
}

TEST(writes_perf)
{
	char *command[] = { (char[]){ "perf" }, (char[]){ "re\377cord" }, NULL };
	struct perf_file file = { .path = (char[]){ "a b" } };
	const struct results results = {
		.perf = { .pid = 7, .command = command, .status = 130, .data = { &file, 1 } },
	};
	json_object *read = round_trip(json_summary(&results), "summary");

	assert_string_equal(
		json_object_to_json_string_ext(get(read, "perf"), JSON_C_TO_STRING_PLAIN),
		"{\"pid\":7,\"command\":[\"perf\",\"re?cord\"],\"status\":130,"
		"\"data\":[\"a b\"]}");
	json_object_put(read);
}

TEST(writes_checks)
{
	static const char *const keys[] = { "type",    "name",	 "have",  "required",
					    "purpose", "detail", "remedy" };
	const struct perf_poke_capability capability = {
		.name = "btf",
		.purpose = "p",
		.detail = "d",
		.remedy = "r",
		.have = true,
	};
	json_object *read = round_trip(json_capability(&capability), "capability");

	check_keys(read, keys, ARRAY_SIZE(keys));
	assert_true(json_object_get_boolean(get(read, "have")));
	json_object_put(read);

	read = round_trip(json_check(false), "check");
	assert_false(json_object_get_boolean(get(read, "can_start")));
	json_object_put(read);
}

TEST(writes_sessions)
{
	static const char *const keys[] = {
		"type",	    "session",	"alive",	"pid",	    "armed_for_ns", "threshold_ns",
		"function", "recorder", "freeze",	"delivery", "workload",	    "targets",
		"pokes",    "merged",	"cpus",		"all",	    "triggers",	    "captures",
		"failed",   "pending",	"max_captures", "output",   "last_capture",
	};
	static const char *const cpu_keys[] = { "cpu",	  "count",   "min_ns",	"avg_ns", "max_ns",
						"spikes", "unarmed", "last_ns", "p99_ns" };
	const struct perf_poke_stats stats = {
		.count = 4, .sum_ns = 20, .spikes = 2, .last_ns = 6
	};
	const struct perf_poke_session_kind kinds[] = {
		{ .stats = stats,
		  .cpu_stats = &stats,
		  .cpu_p99_ns = (const uint64_t[]){ 98 },
		  .p999_ns = 99 },
		{ .kind = PERF_POKE_TRIGGER_USER,
		  .threshold_ns = 60,
		  .cpu_stats = &stats,
		  .cpu_p99_ns = (const uint64_t[]){ 198 },
		  .p999_ns = 199 },
	};
	struct perf_poke_session session = {
		.name = "noon",
		.threshold_ns = 30,
		.pid = 7,
		.cpus = (const int[]){ 3 },
		.nr_cpus = 1,
		.kinds = kinds,
		.nr_kinds = ARRAY_SIZE(kinds),
		.function = "any",
		.recorder = "events",
		.freeze = "",
		.delivery = "",
		.workload = "none",
		.output = "/o",
		.last_capture = "",
		.max_captures = UINT64_MAX,
		.targets = (const int[]){ 8, 9 },
		.nr_targets = 2,
	};
	json_object *read = round_trip(json_session(&session), "session"), *cpu, *user;

	check_keys(read, keys, ARRAY_SIZE(keys));
	assert_string_equal(json_object_get_string(get(read, "session")), "noon");
	assert_false(json_object_get_boolean(get(read, "alive")));
	assert_null(get(read, "freeze"));
	assert_null(get(read, "last_capture"));
	assert_null(get(read, "max_captures"));
	assert_string_equal(json_object_get_string(get(read, "targets")), "[ 8, 9 ]");
	cpu = json_object_array_get_idx(get(read, "cpus"), 0);
	check_keys(cpu, cpu_keys, ARRAY_SIZE(cpu_keys));
	assert_int_equal(json_object_get_int(get(cpu, "cpu")), 3);
	assert_int_equal(json_object_get_int(get(cpu, "avg_ns")), 5);
	assert_int_equal(json_object_get_int(get(cpu, "last_ns")), 6);
	assert_int_equal(json_object_get_int(get(cpu, "p99_ns")), 98);
	assert_int_equal(json_object_get_int(get(get(read, "all"), "p99_9_ns")), 99);
	assert_int_equal(json_object_object_length(get(read, "triggers")), 1);
	user = get(get(read, "triggers"), "user");
	assert_int_equal(json_object_get_int(get(user, "threshold_ns")), 60);
	assert_int_equal(json_object_get_int(get(read, "threshold_ns")), 30);
	assert_int_equal(json_object_get_int(get(get(user, "all"), "p99_9_ns")), 199);
	cpu = json_object_array_get_idx(get(user, "cpus"), 0);
	assert_int_equal(json_object_get_int(get(cpu, "p99_ns")), 198);
	json_object_put(read);

	session.nr_kinds = session.nr_cpus = 0;
	session.max_captures = 5;
	session.freeze = "pause";
	read = round_trip(json_session(&session), "session");
	assert_int_equal(json_object_get_int(get(read, "max_captures")), 5);
	assert_string_equal(json_object_get_string(get(read, "freeze")), "pause");
	json_object_put(read);
}
