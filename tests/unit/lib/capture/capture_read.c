// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
/* The file is spelled out here as the manual page describes it; capture/capture_json tests the
 * writer. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "helpers.h"
#include "perf_poke.h"
#include "util.h"

#define SPIKE                                                                                      \
	"'sequence':7,'cpu':3,'ran_cpu':4,'latency_ns':83245,'time_ns':900,"                       \
	"'expected_ns':700,'actual_ns':800,'wall_time':'2026-11-21T07:01:43.881833Z',"             \
	"'function':'hrtimer_wakeup','function_address':'0xffffffff81000000','pid':12,'tid':13,"   \
	"'comm':'a name that is too long','policy':'fifo','priority':42,'nice':-3,'idle':false,"   \
	"'poked':false,'trigger':'thread','label':'loop','thread_ns':83245,"                       \
	"'noise':{'irq_ns':6,'nmi_ns':9,'most_ns':4},'irqs_off':true,'stack_tid':14,"              \
	"'stack':[{'address':'0xffffffffc0000017','symbol':'acme_flush','module':'acme',"          \
	"'offset':7,'user':false},"                                                                \
	"{'address':'0x401234','file':'/bin/a','build_id':'ab00cd','offset':4660,'user':true}],"   \
	"'holder':{'pid':5,'tid':6,'interrupted':true,'stack':["                                   \
	"{'address':'0xffffffff81000010','symbol':'do_nanosleep','user':false}]},"                 \
	"'thread':{'pid':7,'tid':8,'comm':'loop','policy':'rr','priority':80,'nice':-1}"
#define CAPTURE(spike, more)                                                                       \
	"{'schema':1,'spike':{" spike "},'skid_ns':5,'history_ns':null,'events':17,"               \
	"'recorder':{'kind':'pt'},'kernel':{'release':'6.1'},'threshold_ns':50" more "}"

static void put(const char *name, const char *text)
{
	char path[128], *json = strdup(text);

	for (char *quote = json; (quote = strchr(quote, '\''));)
		*quote = '"';
	snprintf(path, sizeof(path), "%s/capture.json", name);
	put_file(folder->fd, path, json);
	free(json);
}

TEST(reads_all)
{
	const struct perf_poke_capture *capture = NULL;
	const struct perf_poke_spike *spike;

	put("a", CAPTURE(SPIKE, ""));
	assert_int_equal(perf_poke__capture_open(&capture, "a"), 0);
	assert_string_equal(perf_poke__last_error(), "");
	assert_string_equal(capture->path, "a");
	assert_int_equal(capture->wall_ns, UINT64_C(1795244503881833000));
	assert_string_equal(capture->recorder, "pt");
	assert_string_equal(capture->kernel, "6.1");
	assert_null(capture->hostname);
	assert_int_equal(capture->skid_ns, 5);
	assert_int_equal(capture->history_ns, UINT64_MAX);
	assert_int_equal(capture->events, 17);
	spike = capture->spike;
	assert_int_equal(spike->sequence, 7);
	assert_int_equal(spike->cpu, 3);
	assert_int_equal(spike->ran_cpu, 4);
	assert_int_equal(spike->kind, PERF_POKE_TRIGGER_THREAD);
	assert_int_equal(spike->latency_ns, 83245);
	assert_int_equal(spike->threshold_ns, 50);
	assert_int_equal(spike->function, 0xffffffff81000000);
	assert_string_equal(spike->function_name, "hrtimer_wakeup");
	assert_string_equal(spike->comm, "a name that is ");
	assert_string_equal(spike->label, "loop");
	assert_int_equal(spike->policy, 1);
	assert_int_equal(spike->rt_priority, 42);
	assert_int_equal(spike->nice, -3);
	assert_int_equal(spike->irqs_off, 1);
	assert_true(spike->has_noise);
	assert_int_equal(spike->noise_nmi_ns, 9);
	assert_int_equal(spike->noise_most_ns, 4);
	assert_int_equal(spike->nr_frames, 2);
	assert_int_equal(spike->stack[0]->address, 0xffffffffc0000017);
	assert_string_equal(spike->stack[0]->symbol, "acme_flush");
	assert_string_equal(spike->stack[0]->file, "acme");
	assert_true(spike->stack[1]->user);
	assert_string_equal(spike->stack[1]->file, "/bin/a");
	assert_int_equal(spike->stack[1]->offset, 4660);
	assert_int_equal(spike->stack[1]->build_id_size, 3);
	assert_int_equal(spike->stack[1]->build_id[2], 0xcd);
	assert_int_equal(spike->holder_pid, 5);
	assert_int_equal(spike->holder_tid, 6);
	assert_true(spike->holder_interrupted);
	assert_int_equal(spike->nr_holder_frames, 1);
	assert_string_equal(spike->holder[0]->symbol, "do_nanosleep");
	assert_int_equal(spike->late_pid, 7);
	assert_int_equal(spike->late_tid, 8);
	assert_string_equal(spike->late_comm, "loop");
	assert_int_equal(spike->late_policy, 2);
	assert_int_equal(spike->late_priority, 80);
	assert_int_equal(spike->late_nice, -1);
	perf_poke__capture_close(capture);
}

#define LEAST "'time_ns':1,'cpu':1"

/* What has no member. */
TEST(gives_numbers_and_texts)
{
	static const struct {
		const char *path;
		int r;
		uint64_t value;
		const char *text;
	} rows[] = {
		{ "hardware.smis", 0, 3, NULL },
		{ "hardware.late", 0, 1, NULL },
		{ "hardware.steal_ns", -ENOENT, 0, NULL },
		{ "hardware.nmis", -EINVAL, 0, NULL },
		{ "hardware.drift", -EINVAL, 0, NULL },
		{ "hardware.big", -EINVAL, 0, NULL },
		{ "hardware", -EINVAL, 0, NULL },
		{ "hardware.states.1.exit_ns", 0, 7, NULL },
		{ "hardware.states.1.name", -EINVAL, 0, "C6\033[2J" },
		{ "hardware.states.2.name", -ENOENT, 0, NULL },
		{ "hardware.states.-1.name", -ENOENT, 0, NULL },
		{ "hardware.states.1x.name", -ENOENT, 0, NULL },
		{ "hardware.states.99999999999999999999", -ENOENT, 0, NULL },
		{ "hardware.states.name", -ENOENT, 0, NULL },
		{ "hardware.smis.1", -ENOENT, 0, NULL },
		{ "a_name_that_is_longer_than_any_of_captures", -ENOENT, 0, NULL },
		{ "spike.time_ns", 0, 1, NULL },
		{ "recorder.kind", -EINVAL, 0, "pt" },
		{ "..", -ENOENT, 0, NULL },
		{ "", -EINVAL, 0, NULL },
	};
	const struct perf_poke_capture *capture = NULL;

	put("a", CAPTURE(LEAST, ",'a_name_that_is_longer_than_any_of':1,'hardware':{'smis':3,"
				"'late':true,'steal_ns':null,'nmis':-1,'drift':1.5,'big':1e30,"
				"'states':[{},{'name':'C6\\u001b[2J','exit_ns':7}]}"));
	assert_int_equal(perf_poke__capture_open(&capture, "a"), 0);
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		const char *text = perf_poke__capture_text(capture, rows[i].path);
		uint64_t value = 99;

		assert_int_equal(perf_poke__capture_number(capture, rows[i].path, &value),
				 rows[i].r);
		assert_int_equal(value, rows[i].r ? 99 : rows[i].value);
		assert_string_equal(text ?: "NULL", rows[i].text ?: "NULL");
	}
	perf_poke__capture_close(capture);
}

#define HISTOGRAM(rows) CAPTURE(LEAST, ",'statistics':{'count':9,'histogram':" rows "}")

TEST(reads_the_histogram)
{
	const struct perf_poke_capture *capture = NULL;
	uint64_t count = 0;

	put("a", HISTOGRAM("[[0,16,8],[16,32,0],[64,null,1]]"));
	assert_int_equal(perf_poke__capture_open(&capture, "a"), 0);
	assert_int_equal(capture->nr_buckets, 3);
	assert_int_equal(capture->buckets[0].high_ns, 16);
	assert_int_equal(capture->buckets[0].count, 8);
	assert_int_equal(capture->buckets[2].low_ns, 64);
	assert_true(capture->buckets[2].high_ns == UINT64_MAX);
	assert_int_equal(perf_poke__capture_number(capture, "statistics.count", &count), 0);
	assert_int_equal(count, 9);
	perf_poke__capture_close(capture);
	/* From an earlier version, or without counts. */
	put("b", CAPTURE(LEAST, ",'statistics':null"));
	assert_int_equal(perf_poke__capture_open(&capture, "b"), 0);
	assert_int_equal(capture->nr_buckets, 0);
	assert_null(capture->buckets);
	perf_poke__capture_close(capture);
}

static void refuses(int error, const char *text, const char *why)
{
	const struct perf_poke_capture *capture = NULL;

	put("bad", text);
	assert_int_equal(perf_poke__capture_open(&capture, "bad"), error);
	assert_null(capture);
	assert_string_equal(perf_poke__last_error(), why);
}

TEST(refuses_what_is_not_one)
{
	const struct perf_poke_capture *capture = NULL;

#define WHY "bad/capture.json: "
#define ROW(row)                                                                                   \
	WHY "statistics.histogram: row " row " is not [LOW, HIGH, COUNT] in ascending order"
#define FRAME(stack, row) WHY stack ": row " row " is not a frame"
	refuses(-EINVAL, "{", WHY "not JSON: unexpected end of data in line 1");
	refuses(-EINVAL, "[1]", WHY "schema is missing or not a number");
	refuses(-EINVAL, "{'schema':2}", WHY "schema 2: this version reads 1");
	refuses(-EINVAL, CAPTURE("'cpu':1", ""), WHY "spike.time_ns is missing");
	refuses(-EINVAL, CAPTURE("'cpu':1,'time_ns':-1", ""),
		WHY "spike.time_ns is not a non-negative integer");
	refuses(-EINVAL, CAPTURE("'cpu':1,'time_ns':9223372036854775807", ""),
		WHY "spike.time_ns is not a non-negative integer");
	refuses(-EINVAL, CAPTURE("'time_ns':1", ""), WHY "spike.cpu is missing or not a number");
	refuses(-EINVAL, CAPTURE("'time_ns':1,'cpu':-2", ""), WHY "spike.cpu -2: no such CPU");
	refuses(-EINVAL, CAPTURE("'time_ns':1,'cpu':8192", ""), WHY "spike.cpu 8192: no such CPU");
	refuses(-EINVAL, CAPTURE(LEAST ",'ran_cpu':'1'", ""),
		WHY "spike.ran_cpu is missing or not a number");
	refuses(-EINVAL, CAPTURE(LEAST ",'pid':-1", ""), WHY "spike.pid is not a task id");
	refuses(-EINVAL, CAPTURE(LEAST ",'idle':1", ""), WHY "spike.idle is not true or false");
	refuses(-EINVAL, CAPTURE(LEAST ",'comm':[]", ""), WHY "spike.comm is not a string");
	refuses(-EINVAL, CAPTURE(LEAST ",'stack':{}", ""), WHY "spike.stack is not a list");
	refuses(-EINVAL, CAPTURE(LEAST ",'stack':[{'user':true},7]", ""),
		FRAME("spike.stack", "1"));
	refuses(-EINVAL, CAPTURE(LEAST ",'stack':[{}]", ""), FRAME("spike.stack", "0"));
	refuses(-EINVAL, CAPTURE(LEAST ",'holder':{'stack':[7]}", ""),
		FRAME("spike.holder.stack", "0"));
	refuses(-EINVAL, CAPTURE(LEAST ",'wall_time':'now'", ""),
		WHY "spike.wall_time is not a date");
	refuses(-EINVAL, CAPTURE(LEAST ",'wall_time':'2026-11-21T07:01:43.+88183Z'", ""),
		WHY "spike.wall_time is not a date");
	refuses(-EINVAL, CAPTURE(LEAST ",'wall_time':'1026-11-21T07:01:43.881833Z'", ""),
		WHY "spike.wall_time is not a date");
	refuses(-EINVAL, "{'schema':1,'spike':{" LEAST "}}",
		WHY "recorder.kind is missing or not a string");
	refuses(-EINVAL, CAPTURE(LEAST ",'trigger':7", ""), WHY "spike.trigger is not a string");
	refuses(-ENOTSUP, CAPTURE(LEAST ",'trigger':'moon'", ""),
		WHY "spike.trigger 'moon' is unknown to this version");
	refuses(-EINVAL, HISTOGRAM("7"), WHY "statistics.histogram is not a list");
	refuses(-EINVAL, HISTOGRAM("[7]"), ROW("0"));
	refuses(-EINVAL, HISTOGRAM("[[0,1]]"), ROW("0"));
	refuses(-EINVAL, HISTOGRAM("[[0,1,2,3]]"), ROW("0"));
	refuses(-EINVAL, HISTOGRAM("[[0,1,-2]]"), ROW("0"));
	refuses(-EINVAL, HISTOGRAM("[[null,1,2]]"), ROW("0"));
	refuses(-EINVAL, HISTOGRAM("[[0,'1',2]]"), ROW("0"));
	refuses(-EINVAL, HISTOGRAM("[[5,5,1]]"), ROW("0"));
	refuses(-EINVAL, HISTOGRAM("[[0,8,1],[7,9,1]]"), ROW("1"));
	refuses(-EINVAL, HISTOGRAM("[[0,null,1],[9,10,1]]"), ROW("1"));
	refuses(-EINVAL, HISTOGRAM("[[0,1,1.5]]"), ROW("0"));
	assert_int_equal(perf_poke__capture_open(&capture, "nowhere"), -ENOENT);
	assert_string_equal(perf_poke__last_error(),
			    "nowhere/capture.json: No such file or directory");
	perf_poke__capture_close(NULL);
}

static void join(void *ctx, const char *path)
{
	strcat(strcat(ctx, path), " ");
}

TEST(finds_captures)
{
	char paths[128] = "";

	put("of/b", "{");
	put("of/.hidden", "{");
	put("of/a", "{");
	put_file(folder->fd, "of/c/perf.data", "");
	put_file(folder->fd, "of/other/file", "");
	assert_int_equal(perf_poke__captures("of", join, paths), 3);
	assert_string_equal(paths, "of/a of/b of/c ");
	paths[0] = '\0';
	assert_int_equal(perf_poke__captures("of/", join, paths), 3);
	assert_string_equal(paths, "of/a of/b of/c ");
	paths[0] = '\0';
	assert_int_equal(perf_poke__captures("of/b", join, paths), 1);
	assert_string_equal(paths, "of/b ");
	assert_int_equal(perf_poke__captures("nowhere", join, paths), -ENOENT);
}

int main(void)
{
	return run_all(enter_folder, leave_folder);
}
