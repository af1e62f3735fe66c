// SPDX-License-Identifier: GPL-2.0-only
#include "session/json.h"

#include <string.h>

#include "cli/console.h"
#include "cli/json_line.h"
#include "session/adaptive.h"
#include "test.h"

/* What the program writes, which is one line, with ' for ". */
static char *written(json_object *object)
{
	struct console con = { 0 };
	char *text = WRITTEN(file, con.out = file; json_use(&con, true); json_print(&con, object));
	char *end = strchr(text, '\n');

	assert_string_equal(end, "\n");
	*end = '\0';
	for (char *quote = text; (quote = strchr(quote, '"'));)
		*quote = '\'';
	return text;
}

/* All of the line. */
static void check(json_object *object, const char *expected)
{
	_cleanup_free_ char *text = written(object);

	assert_string_equal(text, expected);
}

/* Some of its members, one after the other. */
static void check_has(json_object *object, const char *expected)
{
	_cleanup_free_ char *text = written(object);

	if (!strstr(text, expected))
		fail_msg("no %s in %s", expected, text);
}

static const struct perf_poke_trigger triggers[] = { { PERF_POKE_TRIGGER_THREAD, 5 },
						     { PERF_POKE_TRIGGER_IRQ, 0 } };

TEST(writes_armed)
{
	const struct perf_poke_target targets[] = { { .pid = 7 }, { .pid = 8 } };
	const int cpus[] = { 1, 3 };
	struct perf_poke_opts opts = { .threshold_ns = 30000, .targets = targets, .nr_targets = 2 };

#define ARMED json_armed(cpus, 2, &opts, "me", "events", "none", "relay")
	check(ARMED,
	      "{'type':'armed','session':'me','cpus':[1,3],'threshold_ns':30000,'function':'any',"
	      "'recorder':'events','workload':'none','delivery':'relay','targets':[7,8],"
	      "'triggers':{'irq':30000}}");
	opts.triggers = triggers;
	opts.nr_triggers = ARRAY_SIZE(triggers);
	check_has(ARMED, "'triggers':{'thread':5,'irq':30000}");
	/* Thresholds that are yet to be measured are no number. */
	opts.threshold_ns = ADAPTIVE_NO_FLOOR_NS;
	opts.adaptive_percent = 99.9;
	check_has(ARMED, "'threshold_ns':null");
	check_has(ARMED, "'triggers':{'thread':5,'irq':null}");
#undef ARMED
}

TEST(writes_captures)
{
	struct perf_poke_capture capture = {
		.path = "a/b",
		.recorder = "events",
		.spike = &(struct perf_poke_spike){ .sequence = 1,
						    .latency_ns = UINT64_MAX,
						    .time_ns = 2,
						    .expected_ns = 3,
						    .actual_ns = 4,
						    .timer = 5,
						    .function = 6,
						    .comm = "0123456789abcdef",
						    .cpu = 3,
						    .ran_cpu = 4,
						    .pid = 8,
						    .tid = 9,
						    .kind = PERF_POKE_TRIGGER_THREAD,
						    .irq_ns = 7,
						    .thread_ns = 9 },
		.skid_ns = 10,
		.blind_ns = 11,
		.history_ns = 12,
		.events = 13,
		.lost = 14,
		.size = 15,
	};

	check(json_capture(&capture),
	      "{'type':'capture','error':null,'path':'a/b','recorder':'events','sequence':1,"
	      "'poked':false,'rtla':false,'cpu':3,'ran_cpu':4,'ran_watched':false,'time_ns':2,"
	      "'latency_ns':18446744073709551615,'expected_ns':3,'actual_ns':4,'timer':'0x5',"
	      "'function':'0x6','function_name':null,'idle':false,'pid':8,'tid':9,"
	      "'comm':'0123456789abcdef','trigger':'thread','label':null,'irq_ns':7,'thread_ns':9,'"
	      "user_ns':"
	      "null,"
	      "'skid_ns':10,'blind_ns':11,'history_ns':12,'events':13,'lost':14,'size_bytes':15}");
	capture.error = -ENOSPC;
	capture.path = NULL;
	check_has(json_capture(&capture), "'error':'No space left on device','path':null");
	/* Bytes of trace are told of captures that have a trace. */
	capture.trace_bytes = 5000;
	capture.bytes_after_spike = 70;
	capture.bytes_after_spike_exact = true;
	check_has(json_capture(&capture), "'trace_bytes':5000,'bytes_after_spike':70,"
					  "'bytes_after_spike_exact':true");
	capture.bytes_after_spike = UINT64_MAX;
	capture.bytes_after_spike_exact = false;
	check_has(json_capture(&capture), "'bytes_after_spike':null,"
					  "'bytes_after_spike_exact':false");
	check(json_removed("a/1"), "{'type':'removed','path':'a/1'}");
}

TEST(writes_summaries)
{
	struct perf_poke_bucket buckets[] = { { 1, 2, 7 }, { 2, UINT64_MAX, 1 } };
	uint64_t linear[] = { 3, 0, 4 };
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
		.linear = linear,
	};
	const struct perf_poke_capture capture = {
		.path = "a/2",
		.spike = &(struct perf_poke_spike){ .cpu = 3,
						    .latency_ns = 77,
						    .kind = PERF_POKE_TRIGGER_THREAD },
	};
	const struct perf_poke_capture gone = { .path = "a/1", .spike = capture.spike };
	char *command[] = { (char[]){ "perf" }, (char[]){ "re\377cord" }, NULL };
	struct perf_file file = { .path = (char[]){ "a b" } };
	struct results results = { .kinds[0].all.cpu = ALL_CPUS,
				   .elapsed_ns = 9,
				   .linear_entries = 2,
				   .linear_width_ns = 10 };

	assert_int_equal(results_add_capture(&results, &gone), 0);
	assert_int_equal(results_add_capture(&results, &capture), 0);
	results_remove_capture(&results, "a/1");
	results.kinds[0].rows = &row;
	results.nr_rows = 1;
	check(json_summary(&results),
	      "{'type':'summary','cpus':[{'cpu':3,'count':8,'min_ns':1,'avg_ns':10,'max_ns':2,"
	      "'spikes':3,'unarmed':4,'p50_ns':5,'p99_ns':6,'p99_9_ns':7,'histogram':[[1,2,7],[2,"
	      "null,1]],'linear_histogram':{'width_ns':10,'entries':2,'buckets':[[0,3]],'over':4}}]"
	      ","
	      "'all':{'count':0,'min_ns':0,'avg_ns':0,'max_ns':0,'spikes':0,'unarmed':0,'p50_ns':0,"
	      "'p99_ns':0,'p99_9_ns':0,'histogram':[]},'triggers':{},'missed':0,'captures':2,"
	      "'kept':[{'number':2,'path':'a/2','cpu':3,'latency_ns':77,'trigger':'thread'}],"
	      "'failed':0,'elapsed_ns':9}");
	results.perf = (struct result_perf){
		.pid = 7, .command = command, .status = 130, .data = { &file, 1 }
	};
	check_has(json_summary(&results), "'perf':{'pid':7,'command':['perf','re?cord'],"
					  "'status':130,'data':['a b']}");
	memset(&results.perf, 0, sizeof(results.perf));
	row.nr_buckets = 0;
	row.linear = NULL;
	results.kinds[PERF_POKE_TRIGGER_USER].rows = &row;
	check_has(
		json_summary(&results),
		"'triggers':{'user':{'cpus':[{'cpu':3,'count':8,'min_ns':1,'avg_ns':10,'max_ns':2,"
		"'spikes':3,'unarmed':4,'p50_ns':5,'p99_ns':6,'p99_9_ns':7,'histogram':[]}],"
		"'all':{'cpu':0,'count':0,");
	results.kinds[PERF_POKE_TRIGGER_USER].rows = NULL;
	results.kinds[0].rows = NULL;
	results.nr_rows = 0;
	results_release(&results);
}

TEST(writes_checks)
{
	const struct perf_poke_capability capability = {
		.name = "btf",
		.purpose = "p",
		.detail = "d",
		.remedy = "r",
		.have = true,
	};

	json_object *line = json_line("error");

	json_add_text(line, "message", "a \"b\"\n\377");
	check(line, "{'type':'error','message':'a \\'b\\'\\n?'}");
	check(json_capability(&capability),
	      "{'type':'capability','name':'btf','have':true,'required':false,'purpose':'p',"
	      "'detail':'d','remedy':'r'}");
	check(json_check(false), "{'type':'check','can_start':false}");
}

TEST(writes_sessions)
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

	check(json_session(&session),
	      "{'type':'session','session':'noon','alive':false,'pid':7,'armed_for_ns':10,"
	      "'threshold_ns':30,'function':'any','recorder':'events','freeze':null,'delivery':"
	      "null,"
	      "'workload':'none','targets':[8,9],'pokes':11,'merged':12,'cpus':[{'cpu':3,'count':4,"
	      "'min_ns':1,'avg_ns':5,'max_ns':7,'spikes':2,'unarmed':3,'last_ns':6,'p99_ns':98}],"
	      "'all':{'count':4,'min_ns':1,'avg_ns':5,'max_ns':7,'spikes':2,'unarmed':3,'last_ns':"
	      "6,"
	      "'p50_ns':96,'p99_ns':97,'p99_9_ns':99},'triggers':{'user':{'threshold_ns':60,"
	      "'cpus':[{'cpu':3,'count':4,'min_ns':1,'avg_ns':5,'max_ns':7,'spikes':2,'unarmed':3,"
	      "'last_ns':6,'p99_ns':198}],'all':{'count':0,'min_ns':0,'avg_ns':0,'max_ns':0,'"
	      "spikes':0,"
	      "'unarmed':0,'last_ns':0,'p50_ns':0,'p99_ns':0,'p99_9_ns':199}}},'captures':13,"
	      "'failed':14,'pending':15,'max_captures':null,'output':'/o','last_capture':null}");
	session.nr_kinds = session.nr_cpus = 0;
	session.max_captures = 5;
	session.freeze = "pause";
	session.last_capture = "/o/1";
	session.threshold_ns = ADAPTIVE_NO_FLOOR_NS;
	session.alive = true;
	check(json_session(&session),
	      "{'type':'session','session':'noon','alive':true,'pid':7,'armed_for_ns':10,"
	      "'threshold_ns':1,'function':'any','recorder':'events','freeze':'pause','delivery':"
	      "null,"
	      "'workload':'none','targets':[8,9],'pokes':11,'merged':12,'cpus':[],'all':{'count':0,"
	      "'min_ns':0,'avg_ns':0,'max_ns':0,'spikes':0,'unarmed':0,'last_ns':0,'p50_ns':0,"
	      "'p99_ns':0,'p99_9_ns':0},'triggers':{},'captures':13,'failed':14,'pending':15,"
	      "'max_captures':5,'output':'/o','last_capture':'/o/1'}");
}
