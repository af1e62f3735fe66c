// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
/* capture.json, read back. Symbols come from this test: kallsyms_places() is replaced at link
 * time. */
#include "capture/capture_internal.h"

#include <fcntl.h>
#include <string.h>
#include <sys/utsname.h>

#include <json-c/json.h>

#include "clock.h"
#include "fake_recorder.h"
#include "helpers.h"

#define FUNCTION 0xffffffff81234567
#define KEY_MAX 256

int __wrap_kallsyms_places(struct kallsyms_place *places, size_t nr)
{
	for (size_t i = 0; i < nr; i++) {
		if (places[i].address != FUNCTION)
			continue;
		places[i].start = FUNCTION;
		snprintf(places[i].name, sizeof(places[i].name), "hrtimer_wakeup");
	}
	return 0;
}

static int set_up(void **state)
{
	static int cpus[] = { 3, 4, 7 };
	static const char *const argv[] = { "perf-poke-ctl", "start", "--output=a\"b\\c\n" };

	/* Not UTC, so that a wrong zone shows. */
	setenv("TZ", "XYZ-05:30", 1);
	if (make_output(state))
		return -1;
	config.workload = PERF_POKE_WORKLOAD_CYCLIC;
	config.cpus = cpus;
	config.nr_cpus = ARRAY_SIZE(cpus);
	config.opts.threshold_ns = 30000;
	config.opts.period_ns = 1000000;
	config.opts.priority = 95;
	config.opts.argv = argv;
	config.opts.argc = ARRAY_SIZE(argv);
	env.workload = "cyclic";
	return 0;
}

static struct json_object *written(struct capture *capture)
{
	_cleanup_free_ char *path = NULL;
	struct json_object *json;

	write_capture(capture);
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

/* With ' for ". */
static char *golden_text(struct json_object *json)
{
	char *text = strdup(json_object_to_json_string_ext(json, JSON_C_TO_STRING_NOSLASHESCAPE));

	for (char *quote = text; (quote = strchr(quote, '"'));)
		*quote = '\'';
	return text;
}

/* The text at each path. */
static void check(struct capture *capture, const char *const expected[][2])
{
	struct json_object *json = written(capture);

	for (size_t i = 0; expected[i][0]; i++) {
		_cleanup_free_ char *text = golden_text(get(json, expected[i][0]));

		assert_string_equal(text, expected[i][1]);
	}
	json_object_put(json);
	capture_free(&env, capture);
}

static struct capture *example(void)
{
	struct capture *capture = fake_capture(9);

	capture->spike = (struct perf_poke_spike){
		.sequence = 9,
		.time_ns = 1000000000000,
		.latency_ns = 83500,
		.expected_ns = UINT64_MAX,
		.actual_ns = 9007199254740993ULL,
		.function = FUNCTION,
		.timer = 0xffff888100abcdef,
		.cpu = 3,
		.pid = 4321,
		.tid = 4322,
		.comm = "kworker/3:1",
		.threshold_ns = 30000,
	};
	capture->still_ns = capture->spike.time_ns + 12345;
	capture->armed_ns = capture->spike.time_ns + 67890;
	return capture;
}

/* Without members that depend on the system and the time. Numbers are unsigned and exact: not
 * rounded to a double. */
static const char golden[] =
	"{'schema':1,'version':null,'spike':{'sequence':9,'cpu':3,'ran_cpu':0,'ran_watched':false,"
	"'latency_ns':83500,'time_ns':1000000000000,'expected_ns':18446744073709551615,"
	"'actual_ns':9007199254740993,'wall_time':null,'function':'hrtimer_wakeup',"
	"'function_address':'0xffffffff81234567','timer_address':'0xffff888100abcdef',"
	"'pid':4321,'tid':4322,'comm':'kworker/3:1','policy':'fifo','priority':42,'nice':-3,"
	"'idle':false,'poked':false,'rtla':false,"
	"'trigger':'irq','label':null,'irq_ns':null,'thread_ns':null,'user_ns':null,"
	"'noise':{'irq_ns':6,'softirq_ns':7,'thread_ns':8,'nmi_ns':9},"
	"'overrun':false,'uncertain':false,'irqs_off':true,'stack_pid':4321,'stack_tid':4322,'"
	"stack_ns':4100,"
	"'stack':[{'address':'0xffffffffc0000017','symbol':'acme_flush','module':'acme',"
	"'offset':7,'user':false},"
	"{'address':'0xffffffffc1000000','symbol':null,'module':null,'offset':null,'user':false},"
	"{'address':'0x401234','file':'/bin/"
	"a','build_id':'ab000000000000000000000000000000000000cd',"
	"'offset':4660,'user':true},"
	"{'address':'0x10','file':null,'build_id':null,'offset':null,'user':true}],"
	"'holder':{'pid':5,'tid':6,'interrupted':true,'stack':["
	"{'address':'0x10','file':null,'build_id':null,'offset':null,'user':true}]},"
	"'thread':{'pid':7,'tid':8,'comm':'loop','policy':'rr','priority':80,'nice':-1}},"
	"'threshold_ns':30000,'floor_ns':41000,'skid_ns':12345,'blind_ns':67890,"
	"'history_ns':700000,'events':1234,'lost':5,"
	"'trigger':{'kind':'irq','threshold_ns':30000,'function':'any','cpus':[3,4,7],"
	"'thresholds_ns':{}},"
	"'statistics':{'cpu':3,'count':5,'min_ns':30,'avg_ns':400000080,'p50_ns':31,'p99_ns':32,"
	"'p99_9_ns':33,'max_ns':2000000000,'spikes':2,'unarmed':1,"
	"'histogram':[[16,32,4],[1073741824,null,1]]},"
	"'workload':{'kind':'cyclic','period_ns':1000000,'priority':95},"
	"'recorder':{'kind':'fake','buffer_size':4096},'hardware':null,'scheduling':null,'kernel':"
	"null,'machine':"
	"null,"
	"'command_line':['perf-poke-ctl','start','--output=a\\'b\\\\c\\n']}";

/* As programs get them. */
static const char golden_fields[] =
	"{'floor_ns':41000,'skid_ns':12345,'blind_ns':67890,'history_ns':700000,'events':1234,"
	"'lost':5,'recorder':'fake','spike':{'sequence':9,'cpu':3,'ran_cpu':0,'ran_watched':true,"
	"'latency_ns':83500,'time_ns':1000000000000,'expected_ns':18,"
	"'actual_ns':9007199254740993,'function_name':'hrtimer_wakeup',"
	"'function':'0xffffffff81234567','timer':'0xffff888100abcdef','pid':4321,'tid':4322,"
	"'comm':'kworker/3:1','policy':'fifo','priority':42,'nice':-3,'idle':false,"
	"'poked':false,'rtla':false,'trigger':'noise','label':null,'irq_ns':null,"
	"'thread_ns':null,'user_ns':null,'noise_irq_ns':6,'noise_softirq_ns':7,"
	"'noise_thread_ns':8,'noise_nmi_ns':9,'noise_most_ns':0,'overrun':true,"
	"'uncertain':true,'irqs_off':true,"
	"'stack_pid':4321,'stack_tid':4322,'stack_ns':4100,"
	"'stack':[{'address':'0xffffffffc0000017','symbol':'acme_flush','module':'acme',"
	"'offset':7,'user':false},"
	"{'address':'0xffffffffc1000000','symbol':null,'module':null,'offset':null,'user':false},"
	"{'address':'0x401234','file':'/bin/"
	"a','build_id':'ab000000000000000000000000000000000000cd','offset':4660,'user':true},"
	"{'address':'0x10','file':null,'build_id':null,'offset':null,'user':true}],"
	"'holder_pid':5,'holder_tid':6,'holder_interrupted':true,'holder':["
	"{'address':'0x10','file':null,'build_id':null,'offset':null,'user':true}],"
	"'late_pid':7,'late_tid':8,'late_comm':'loop','late_policy':'rr','late_priority':80,"
	"'late_nice':-1,'threshold_ns':30000}}";

static void forget(struct json_object *json, const char *key, const char *expected)
{
	if (expected)
		assert_string_equal(json_object_get_string(get(json, key)), expected);
	json_object_object_add(json, key, NULL);
}

/* With all that it may have. */
static struct capture *full_example(void)
{
	static const struct perf_poke_frame frames[] = {
		{ 0xffffffffc0000017, "acme_flush", "acme", 7 },
		{ 0xffffffffc1000000 },
		{ 0x401234, NULL, "/bin/a", 0x1234, true, 20, { 0xab, [19] = 0xcd } },
		{ 0x10, .user = true },
	};
	static const struct perf_poke_frame *const stack[] = { frames, frames + 1, frames + 2,
							       frames + 3 };
	struct capture *capture = example();

	capture->spike.policy = 1;
	capture->spike.rt_priority = 42;
	capture->spike.nice = -3;
	capture->spike.irqs_off = 1;
	capture->spike.stack_pid = 4321;
	capture->spike.stack_ns = 4100;
	capture->spike.stack_tid = 4322;
	capture->spike.stack = stack;
	capture->spike.nr_frames = ARRAY_SIZE(stack);
	capture->spike.holder = stack + 3;
	capture->spike.nr_holder_frames = 1;
	capture->spike.holder_pid = 5;
	capture->spike.holder_tid = 6;
	capture->spike.holder_interrupted = true;
	capture->spike.late_pid = 7;
	capture->spike.late_tid = 8;
	strcpy(capture->spike.late_comm, "loop");
	capture->spike.late_policy = 2;
	capture->spike.late_priority = 80;
	capture->spike.late_nice = -1;
	capture->spike.has_noise = true;
	capture->spike.noise_irq_ns = 6;
	capture->spike.noise_softirq_ns = 7;
	capture->spike.noise_thread_ns = 8;
	capture->spike.noise_nmi_ns = 9;
	capture->facts.oldest_ns = capture->spike.time_ns - 700000;
	capture->floor_ns = 41000;
	capture->stats = (struct stats_snapshot){
		.sum = { .count = 5, .min_ns = 30, .max_ns = 2000000000, .sum_ns = 2000000401 },
		.p50_ns = 31,
		.p99_ns = 32,
		.p99_9_ns = 33,
		.buckets = { [1] = 4, [STATS_BUCKETS - 1] = 1 },
	};
	capture->stats.sum.spikes = 2;
	capture->stats.sum.unarmed = 1;
	return capture;
}

TEST_WITH(holds_all, set_up, remove_output)
{
	struct capture *capture = full_example();
	struct json_object *json;
	struct utsname names;
	_cleanup_free_ char *text = NULL;

	json = written(capture);
	assert_string_equal(capture->spike.function_name, "hrtimer_wakeup");
	uname(&names);
	forget(json, "version", perf_poke__version());
	forget(get(json, "spike"), "wall_time", NULL);
	forget(get(json, "kernel"), "release", names.release);
	forget(get(json, "machine"), "arch", names.machine);
	assert_int_equal(json_object_get_int(get(json, "machine.cpus_online")),
			 sysconf(_SC_NPROCESSORS_ONLN));
#ifdef __x86_64__
	assert_true(json_object_get_string_len(get(json, "machine.cpu")) > 0);
	assert_true(json_object_is_type(get(json, "machine.hypervisor"), json_type_boolean));
#endif
	forget(json, "machine", NULL);
	assert_true(json_object_is_type(get(json, "scheduling"), json_type_object));
	forget(json, "scheduling", NULL);
	assert_string_equal(json_object_get_string(get(json, "kernel.version")), names.version);
	forget(json, "kernel", NULL);
	text = golden_text(json);
	assert_string_equal(text, golden);
	json_object_put(json);
	capture_free(&env, capture);
}

/* Each field, and those of the files are not told before. */
TEST_WITH(is_read_as_it_was_written, set_up, remove_output)
{
	static const char *const others[] = { "wall_time_ns", "size_bytes", "kernel",
					      "hostname",     "buckets",    "path" };
	struct capture *capture = full_example();
	const struct perf_poke_capture *found;
	struct perf_poke_capture told;
	struct json_object *json[2];
	_cleanup_free_ char *text = NULL;

	capture->spike.expected_ns = 18;
	capture->spike.kind = PERF_POKE_TRIGGER_NOISE;
	capture->spike.ran_watched = capture->spike.overrun = true;
	capture->spike.uncertain = true;
	write_capture(capture);
	told = capture_to_public(&env, capture);
	assert_int_equal(perf_poke__capture_open(&found, capture->path), 0);
	for (size_t i = 0; i < ARRAY_SIZE(json); i++) {
		_cleanup_free_ char *text = perf_poke__capture_json(i ? found : &told);

		json[i] = json_tokener_parse(text);
		assert_non_null(json[i]);
		for (size_t j = 0; j < ARRAY_SIZE(others); j++)
			json_object_object_del(json[i], others[j]);
	}
	text = golden_text(json[0]);
	assert_string_equal(text, golden_fields);
	assert_string_equal(json_object_to_json_string(json[0]),
			    json_object_to_json_string(json[1]));
	json_object_put(json[0]);
	json_object_put(json[1]);
	perf_poke__capture_close(found);
	capture_free(&env, capture);
}

/* Unknown or missing values are null. */
TEST_WITH(tells_what_is_other, set_up, remove_output)
{
	struct capture *capture = example();

	capture->spike.rtla = true;
	capture->spike.threshold_ns = 0;
	check(capture, (const char *[][2]){ { "spike.rtla", "true" },
					    { "spike.trigger", "'irq'" },
					    { "threshold_ns", "null" },
					    { "trigger.threshold_ns", "null" },
					    { "statistics", "null" },
					    { "spike.noise", "null" },
					    { "history_ns", "null" },
					    {} });
	capture = example();
	capture->spike.function = FUNCTION + 1;
	capture->spike.threshold_ns = 17;
	capture->spike.user_ns = 18;
	check(capture, (const char *[][2]){ { "spike.function", "null" },
					    { "spike.function_address", "'0xffffffff81234568'" },
					    { "spike.user_ns", "18" },
					    { "threshold_ns", "17" },
					    { "trigger.threshold_ns", "17" },
					    {} });
	config.workload = PERF_POKE_WORKLOAD_NONE;
	env.workload = "none";
	config.opts.function = "hrtimer_wakeup";
	config.opts.task = "worker";
	config.texts[PERF_POKE_TRIGGER_EVENT] = "a:b";
	config.thresholds[PERF_POKE_TRIGGER_USER] = 19;
	config.opts.argc = 0;
	capture = example();
	capture->spike.idle = capture->spike.poked = capture->spike.ran_watched = true;
	capture->spike.cpu = -1;
	capture->stats.sum.count = 1;
	check(capture, (const char *[][2]){ { "workload", "{'kind':'none'}" },
					    { "trigger.function", "'hrtimer_wakeup'" },
					    { "trigger.task", "'worker'" },
					    { "trigger.event", "'a:b'" },
					    { "trigger.thresholds_ns", "{'user':19}" },
					    { "command_line", "[]" },
					    { "spike.idle", "true" },
					    { "spike.poked", "true" },
					    { "spike.ran_watched", "true" },
					    { "spike.trigger", "null" },
					    { "spike.cpu", "-1" },
					    { "statistics.cpu", "null" },
					    {} });
}

/* Names of tasks are arbitrary bytes. */
TEST_WITH(any_comm_is_text, set_up, remove_output)
{
	static const char *const rows[][2] = {
		{ "a\xff\xc3z", "'a??z'" },
		{ "\xc3\xa4", "'\xc3\xa4'" },
		{ "quote\"\\\t\x01", "'quote\\'\\\\\\t\\u0001'" },
		{ "123456789012345", "'123456789012345'" },
		{ "", "''" },
	};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct capture *capture = example();

		strcpy(capture->spike.comm, rows[i][0]);
		check(capture, (const char *[][2]){ { "spike.comm", rows[i][1] }, {} });
	}
}

TEST_WITH(wall_time_is_utc, set_up, remove_output)
{
	struct capture *capture = fake_capture(1);
	struct json_object *json;
	time_t before = time(NULL), after;
	struct tm tm = {};
	const char *end;

	json = written(capture);
	after = time(NULL);
	end = strptime(json_object_get_string(get(json, "spike.wall_time")), "%Y-%m-%dT%H:%M:%S",
		       &tm);
	assert_non_null(end);
	assert_int_equal(strspn(end, ".0123456789"), 7);
	assert_string_equal(end + 7, "Z");
	assert_in_range(timegm(&tm), before - 1, after + 1);
	json_object_put(json);
	capture_free(&env, capture);
}

TEST_WITH(refuses_to_overwrite, set_up, remove_output)
{
	struct capture *capture = example();

	put_file(captures.fd, "capture.json", "mine");
	assert_int_equal(capture_json_write(&env, capture, captures.fd), -EEXIST);
	capture_free(&env, capture);
}

static uint64_t history_of(const struct capture *capture)
{
	return capture_to_public(&env, capture).history_ns;
}

TEST_WITH(history_is_never_negative, make_output, remove_output)
{
	struct capture capture = { .spike.time_ns = 5000 };

	/* Nothing is known of it. */
	assert_int_equal(history_of(&capture), UINT64_MAX);
	capture.facts.oldest_ns = 1000;
	assert_int_equal(history_of(&capture), 4000);
	capture.facts.oldest_ns = 5000;
	assert_int_equal(history_of(&capture), 0);
	capture.facts.oldest_ns = 6000;
	assert_int_equal(history_of(&capture), 0);
}

static void check_ends(const char *text, const char *by, const char *entry, const char *exit)
{
	struct json_object *json = span_ends_json(text), *value;

	assert_non_null(json);
	assert_true(json_object_object_get_ex(json, "by", &value));
	assert_string_equal(json_object_get_string(value), by);
	assert_true(json_object_object_get_ex(json, "entry", &value));
	assert_string_equal(json_object_to_json_string_ext(value, JSON_C_TO_STRING_PLAIN), entry);
	assert_true(json_object_object_get_ex(json, "exit", &value));
	assert_string_equal(json_object_to_json_string_ext(value, JSON_C_TO_STRING_PLAIN), exit);
	json_object_put(json);
}

#define AT_CALL(functions) "{\"functions\":[" functions "],\"at\":\"call\"}"
#define AT_RETURN(functions) "{\"functions\":[" functions "],\"at\":\"return\"}"

TEST(names_functions)
{
	check_ends("read=fn:vfs_read", "thread", AT_CALL("\"vfs_read\""),
		   AT_RETURN("\"vfs_read\""));
	check_ends("x=uprobe:/bin/x:begin+0x10..uretprobe:/bin/x:end,by=cpu", "cpu",
		   AT_CALL("\"begin\""), AT_RETURN("\"end\""));
	/* Of an address no function is known, of a usdt neither. */
	check_ends("x=uprobe:/bin/x:0x10..usdt:/bin/x:acme:done", "thread", AT_CALL(""),
		   AT_CALL(""));
}

#ifdef __aarch64__
#define SYS_READ "__arm64_sys_read"
#else
#define SYS_READ "__x64_sys_read"
#endif

TEST(names_what_a_tracepoint_calls)
{
	check_ends("call=tp:syscalls:sys_enter_read..tp:syscalls:sys_exit_read", "thread",
		   "{\"event\":\"syscalls:sys_enter_read\",\"functions\":[\"" SYS_READ "\"],"
		   "\"at\":\"call\"}",
		   "{\"event\":\"syscalls:sys_exit_read\",\"functions\":[\"" SYS_READ "\"],"
		   "\"at\":\"return\"}");
	check_ends(
		"io=tp:block:block_rq_issue..fn:done,by=dev:arg1", "argument",
		"{\"event\":\"block:block_rq_issue\",\"functions\":[\"__traceiter_block_rq_issue\","
		"\"__bpf_trace_block_rq_issue\",\"perf_trace_block_rq_issue\","
		"\"trace_event_raw_event_block_rq_issue\"],\"at\":\"call\"}",
		AT_RETURN("\"done\""));
}

TEST(needs_a_span)
{
	assert_null(span_ends_json(NULL));
	assert_null(span_ends_json("nonsense"));
}
