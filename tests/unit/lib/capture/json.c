// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
/* capture.json, read back. Symbols come from this test: kallsyms_name() is replaced at link
 * time. */
#include "capture/json.h"
#include "capture/write.h"

#include <fcntl.h>
#include <string.h>
#include <sys/utsname.h>

#include <json-c/json.h>

#include "clock.h"
#include "fake_recorder.h"
#include "helpers.h"

#define FUNCTION 0xffffffff81234567
#define KEY_MAX 256

static struct config config;
static struct capture_env env;
static struct output captures;

int __wrap_kallsyms_name(uint64_t address, char *name, size_t size)
{
	if (address != FUNCTION)
		return -ENOENT;
	snprintf(name, size, "hrtimer_wakeup");
	return 0;
}

static int make_output(void **state)
{
	static int cpus[] = { 3, 4, 7 };
	static char *argv[] = { "perf-poke-ctl", "start", "--output=a\"b\\c\n" };
	static char output[4096];
	struct folder *folder;

	if (make_folder(state))
		return -1;
	folder = *state;
	snprintf(output, sizeof(output), "%s/captures", folder->path);
	fake_reset();
	config = (struct config){
		.workload = PERF_POKE_WORKLOAD_CYCLIC,
		.cpus = cpus,
		.nr_cpus = ARRAY_SIZE(cpus),
		.threshold_ns = 30000,
		.period_ns = 1000000,
		.priority = 95,
		.output = output,
		.argv = argv,
		.argc = ARRAY_SIZE(argv),
	};
	env = (struct capture_env){ &config, &fake.recorder, &captures, .workload = "cyclic" };
	return output_open(&captures, output, 0, &(struct log){});
}

static int remove_output(void **state)
{
	output_close(&captures);
	return remove_folder(state);
}

static struct json_object *written(struct capture *capture)
{
	_cleanup_free_ char *path = NULL;
	struct json_object *json;

	capture_write(&env, capture);
	assert_int_equal(capture->error, 0);
	assert_true(asprintf(&path, "%s/capture.json", capture->path) > 0);
	json = json_object_from_file(path);
	assert_non_null(json);
	return json;
}

static struct json_object *get(struct json_object *json, const char *path)
{
	char copy[KEY_MAX], *rest = copy, *key;

	snprintf(copy, sizeof(copy), "%s", path);
	while ((key = strsep(&rest, "."))) {
		if (!json_object_object_get_ex(json, key, &json))
			fail_msg("capture.json has no %s", path);
	}
	return json;
}

static uint64_t get_uint(struct json_object *json, const char *path)
{
	return json_object_get_uint64(get(json, path));
}

static const char *get_string(struct json_object *json, const char *path)
{
	return json_object_get_string(get(json, path));
}

static void check_keys(struct json_object *json, const char *path, const char *expected)
{
	struct json_object *object = *path ? get(json, path) : json;
	char keys[512] = "";

	json_object_object_foreach (object, key, value) {
		(void)value;
		/* Not on all architectures. */
		if (strcmp(key, "cpu") || strcmp(path, "machine"))
			strcat(strcat(keys, key), " ");
	}
	assert_string_equal(keys, expected);
}

TEST_WITH(tells_noise, make_output, remove_output)
{
	struct capture *capture = fake_capture(1);
	struct json_object *json;

	capture->spike.has_noise = true;
	capture->spike.noise_softirq_ns = 7;
	json = written(capture);
	check_keys(json, "spike.noise", "irq_ns softirq_ns thread_ns nmi_ns ");
	assert_int_equal(get_uint(json, "spike.noise.softirq_ns"), 7);
	json_object_put(json);
	capture_free(&env, capture);
}

TEST_WITH(has_these_keys, make_output, remove_output)
{
	struct capture *capture = fake_capture(1);
	struct json_object *json = written(capture);

	check_keys(json, "",
		   "schema version spike threshold_ns floor_ns skid_ns blind_ns history_ns events "
		   "lost "
		   "trigger statistics workload recorder kernel machine command_line ");
	check_keys(json, "spike",
		   "sequence cpu ran_cpu ran_watched latency_ns time_ns expected_ns actual_ns "
		   "wall_time function "
		   "function_address timer_address pid tid comm idle poked rtla trigger irq_ns "
		   "thread_ns user_ns noise ");
	check_keys(json, "trigger", "kind threshold_ns function cpus thresholds_ns ");
	check_keys(json, "workload", "kind period_ns priority ");
	check_keys(json, "recorder", "kind buffer_size ");
	check_keys(json, "kernel", "release version ");
	check_keys(json, "machine", "hostname arch cpus_online ");
	json_object_put(json);
	capture_free(&env, capture);
}

TEST_WITH(has_these_types, make_output, remove_output)
{
	static const struct {
		enum json_type type;
		const char *paths[16];
	} rows[] = {
		{ json_type_int,
		  { "schema", "threshold_ns", "skid_ns", "blind_ns", "history_ns", "events", "lost",
		    "spike.sequence", "spike.cpu", "spike.ran_cpu", "spike.latency_ns",
		    "spike.time_ns", "spike.expected_ns", "spike.actual_ns", "spike.pid",
		    "spike.tid" } },
		{ json_type_int,
		  { "trigger.threshold_ns", "workload.period_ns", "workload.priority",
		    "machine.cpus_online" } },
		{ json_type_string,
		  { "version", "spike.wall_time", "spike.function", "spike.function_address",
		    "spike.timer_address", "spike.comm", "trigger.kind", "trigger.function",
		    "workload.kind", "recorder.kind", "kernel.release", "kernel.version",
		    "machine.hostname", "machine.arch" } },
		{ json_type_boolean,
		  { "spike.idle", "spike.poked", "spike.rtla", "spike.ran_watched" } },
		{ json_type_array, { "trigger.cpus", "command_line" } },
	};
	struct capture *capture = fake_capture(1);
	struct json_object *json;

	capture->spike.function = FUNCTION;
	capture->facts.oldest_ns = 1;
	json = written(capture);
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		for (size_t j = 0; j < ARRAY_SIZE(rows[i].paths) && rows[i].paths[j]; j++)
			assert_int_equal(json_object_get_type(get(json, rows[i].paths[j])),
					 rows[i].type);
	}
	json_object_put(json);
	capture_free(&env, capture);
}

static struct capture *example(void)
{
	struct capture *capture = fake_capture(9);

	capture->spike = (struct perf_poke_spike){
		.sequence = 9,
		.time_ns = clock_ns(CLOCK_MONOTONIC),
		.latency_ns = 83500,
		.expected_ns = 18446744073709551615ULL,
		.actual_ns = 9007199254740993ULL,
		.function = FUNCTION,
		.timer = 0xffff888100abcdef,
		.cpu = 3,
		.pid = 4321,
		.tid = 4322,
		.comm = "kworker/3:1",
		.idle = false,
	};
	capture->still_ns = capture->spike.time_ns + 12345;
	capture->armed_ns = capture->spike.time_ns + 67890;
	return capture;
}

TEST_WITH(tells_no_history_that_is_not_known, make_output, remove_output)
{
	struct capture *capture = example();
	struct json_object *json = written(capture), *history;

	assert_true(json_object_object_get_ex(json, "history_ns", &history));
	assert_null(history);
	json_object_put(json);
	capture_free(&env, capture);
}

TEST_WITH(holds_the_spike, make_output, remove_output)
{
	struct capture *capture = example();
	struct json_object *json = written(capture);

	assert_int_equal(get_uint(json, "spike.sequence"), 9);
	assert_int_equal(get_uint(json, "spike.cpu"), 3);
	assert_int_equal(get_uint(json, "spike.latency_ns"), 83500);
	assert_int_equal(get_uint(json, "spike.time_ns"), capture->spike.time_ns);
	/* No rounding, as through a double, and no sign. */
	assert_int_equal(get_uint(json, "spike.expected_ns"), UINT64_MAX);
	assert_int_equal(get_uint(json, "spike.actual_ns"), 9007199254740993ULL);
	assert_string_equal(get_string(json, "spike.function"), "hrtimer_wakeup");
	assert_string_equal(get_string(json, "spike.function_address"), "0xffffffff81234567");
	assert_string_equal(get_string(json, "spike.timer_address"), "0xffff888100abcdef");
	assert_int_equal(get_uint(json, "spike.pid"), 4321);
	assert_int_equal(get_uint(json, "spike.tid"), 4322);
	assert_string_equal(get_string(json, "spike.comm"), "kworker/3:1");
	assert_false(json_object_get_boolean(get(json, "spike.idle")));
	assert_false(json_object_get_boolean(get(json, "spike.poked")));
	assert_false(json_object_get_boolean(get(json, "spike.rtla")));
	assert_string_equal(capture->spike.function_name, "hrtimer_wakeup");
	json_object_put(json);
	capture_free(&env, capture);
}

TEST_WITH(holds_the_rest, make_output, remove_output)
{
	struct capture *capture = example();
	struct json_object *json, *argv;
	struct utsname names;

	uname(&names);
	capture->facts.oldest_ns = capture->spike.time_ns - 700000;
	capture->floor_ns = 41000;
	json = written(capture);
	assert_int_equal(get_uint(json, "schema"), 1);
	assert_string_equal(get_string(json, "version"), perf_poke__version());
	assert_int_equal(get_uint(json, "threshold_ns"), 30000);
	assert_int_equal(get_uint(json, "floor_ns"), 41000);
	assert_int_equal(get_uint(json, "skid_ns"), 12345);
	assert_int_equal(get_uint(json, "blind_ns"), 67890);
	assert_int_equal(get_uint(json, "history_ns"), 700000);
	assert_int_equal(get_uint(json, "events"), 1234);
	assert_int_equal(get_uint(json, "lost"), 5);
	assert_string_equal(get_string(json, "trigger.kind"), "irq");
	assert_int_equal(get_uint(json, "trigger.threshold_ns"), 30000);
	assert_string_equal(get_string(json, "spike.trigger"), "irq");
	assert_null(get(json, "spike.thread_ns"));
	assert_string_equal(get_string(json, "trigger.function"), "any");
	assert_string_equal(json_object_to_json_string_ext(get(json, "trigger.cpus"), 0),
			    "[3,4,7]");
	assert_string_equal(get_string(json, "workload.kind"), "cyclic");
	assert_int_equal(get_uint(json, "workload.period_ns"), 1000000);
	assert_int_equal(get_uint(json, "workload.priority"), 95);
	assert_string_equal(get_string(json, "recorder.kind"), "fake");
	assert_int_equal(get_uint(json, "recorder.buffer_size"), 4096);
	assert_string_equal(get_string(json, "kernel.release"), names.release);
	assert_string_equal(get_string(json, "machine.arch"), names.machine);
	argv = get(json, "command_line");
	assert_int_equal(json_object_array_length(argv), config.argc);
	for (size_t i = 0; i < config.argc; i++)
		assert_string_equal(json_object_get_string(json_object_array_get_idx(argv, i)),
				    config.argv[i]);
	json_object_put(json);
	capture_free(&env, capture);
}

TEST_WITH(tells_statistics, make_output, remove_output)
{
	struct capture *capture = example();
	struct json_object *json;

	capture->stats.sum.count = 5;
	capture->stats.sum.min_ns = 30;
	capture->stats.sum.max_ns = 2000000000;
	capture->stats.sum.sum_ns = 2000000401;
	capture->stats.sum.spikes = 2;
	capture->stats.sum.unarmed = 1;
	capture->stats.p50_ns = 31;
	capture->stats.p99_ns = 32;
	capture->stats.p99_9_ns = 33;
	capture->stats.buckets[1] = 4;
	capture->stats.buckets[STATS_BUCKETS - 1] = 1;
	json = written(capture);
	check_keys(
		json, "statistics",
		"cpu count min_ns avg_ns p50_ns p99_ns p99_9_ns max_ns spikes unarmed histogram ");
	assert_int_equal(get_uint(json, "statistics.cpu"), 3);
	assert_int_equal(get_uint(json, "statistics.count"), 5);
	assert_int_equal(get_uint(json, "statistics.avg_ns"), 400000080);
	assert_int_equal(get_uint(json, "statistics.max_ns"), 2000000000);
	assert_int_equal(get_uint(json, "statistics.p99_ns"), 32);
	assert_int_equal(get_uint(json, "statistics.p99_9_ns"), 33);
	assert_int_equal(get_uint(json, "statistics.unarmed"), 1);
	assert_string_equal(json_object_to_json_string_ext(get(json, "statistics.histogram"), 0),
			    "[[16,32,4],[1073741824,null,1]]");
	json_object_put(json);
	capture_free(&env, capture);
}

TEST_WITH(tells_of_rtla, make_output, remove_output)
{
	struct capture *capture = example();
	struct json_object *json;

	capture->spike.rtla = true;
	json = written(capture);
	assert_true(json_object_get_boolean(get(json, "spike.rtla")));
	assert_string_equal(get_string(json, "spike.trigger"), "irq");
	assert_int_equal(get_uint(json, "spike.latency_ns"), 83500);
	/* Ours is not what was reached. */
	assert_null(get(json, "threshold_ns"));
	assert_null(get(json, "trigger.threshold_ns"));
	json_object_put(json);
	capture_free(&env, capture);
}

TEST_WITH(tells_other_choices, make_output, remove_output)
{
	struct capture *capture = example();
	struct json_object *json;

	config.workload = PERF_POKE_WORKLOAD_NONE;
	env.workload = "none";
	config.function = "hrtimer_wakeup";
	config.argc = 0;
	capture->spike.idle = true;
	capture->spike.poked = true;
	capture->spike.cpu = -1;
	json = written(capture);
	check_keys(json, "workload", "kind ");
	assert_string_equal(get_string(json, "workload.kind"), "none");
	assert_string_equal(get_string(json, "trigger.function"), "hrtimer_wakeup");
	assert_int_equal(json_object_array_length(get(json, "command_line")), 0);
	assert_true(json_object_get_boolean(get(json, "spike.idle")));
	assert_true(json_object_get_boolean(get(json, "spike.poked")));
	assert_int_equal(json_object_get_int(get(json, "spike.cpu")), -1);
	json_object_put(json);
	capture_free(&env, capture);
}

/* Only where there is a trace: has_these_keys() has none of these. */
TEST_WITH(tells_of_the_trace, make_output, remove_output)
{
	struct capture *captures[] = { example(), example() };
	struct json_object *json;

	for (size_t i = 0; i < ARRAY_SIZE(captures); i++)
		captures[i]->facts.trace_bytes = 5000;
	captures[0]->facts.bytes_after_spike = 70;
	captures[0]->facts.bytes_after_spike_exact = true;
	captures[1]->facts.bytes_after_spike = UINT64_MAX;
	json = written(captures[0]);
	assert_int_equal(get_uint(json, "bytes_after_spike"), 70);
	assert_true(json_object_get_boolean(get(json, "bytes_after_spike_exact")));
	json_object_put(json);
	json = written(captures[1]);
	assert_null(get(json, "bytes_after_spike"));
	assert_false(json_object_get_boolean(get(json, "bytes_after_spike_exact")));
	json_object_put(json);
	for (size_t i = 0; i < ARRAY_SIZE(captures); i++)
		capture_free(&env, captures[i]);
}

TEST_WITH(a_function_without_symbol_is_null, make_output, remove_output)
{
	struct capture *capture = example();
	struct json_object *json;

	capture->spike.function = FUNCTION + 1;
	json = written(capture);
	assert_null(get(json, "spike.function"));
	assert_string_equal(get_string(json, "spike.function_address"), "0xffffffff81234568");
	assert_null(capture->spike.function_name);
	json_object_put(json);
	capture_free(&env, capture);
}

/* Names of tasks are bytes. */
TEST_WITH(any_comm_is_text, make_output, remove_output)
{
	static const struct {
		const char *comm, *text;
	} rows[] = {
		{ "a\xff\xc3z", "a??z" },
		{ "\xc3\xa4", "\xc3\xa4" },
		{ "quote\"\\\t\x01", "quote\"\\\t\x01" },
		{ "123456789012345", "123456789012345" },
		{ "", "" },
	};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct capture *capture = example();
		struct json_object *json;

		memset(capture->spike.comm, 0, sizeof(capture->spike.comm));
		memcpy(capture->spike.comm, rows[i].comm, strlen(rows[i].comm));
		json = written(capture);
		assert_string_equal(get_string(json, "spike.comm"), rows[i].text);
		json_object_put(json);
		capture_free(&env, capture);
	}
}

TEST_WITH(wall_time_is_utc, make_output, remove_output)
{
	struct capture *capture = example();
	struct json_object *json;
	time_t before = time(NULL), after;
	struct tm tm = {};
	const char *end;

	json = written(capture);
	after = time(NULL);
	end = strptime(get_string(json, "spike.wall_time"), "%Y-%m-%dT%H:%M:%S", &tm);
	assert_non_null(end);
	assert_int_equal(strspn(end, ".0123456789"), 7);
	assert_string_equal(end + 7, "Z");
	assert_in_range(timegm(&tm), before - 1, after + 1);
	json_object_put(json);
	capture_free(&env, capture);
}

TEST_WITH(refuses_to_overwrite, make_output, remove_output)
{
	struct capture *capture = example();

	put_file(captures.fd, "capture.json", "mine");
	assert_int_equal(capture_json_write(&env, capture, captures.fd), -EEXIST);
	capture_free(&env, capture);
}

int main(void)
{
	/* Not UTC: the difference shows. */
	setenv("TZ", "XYZ-05:30", 1);

	return run_all(NULL, NULL);
}
