// SPDX-License-Identifier: GPL-2.0-only
#include "selftest/row.h"
#include "test.h"

#include <stdlib.h>
#include <string.h>

#define MS UINT64_C(1000000)
#define MIB (UINT64_C(1) << 20)

static struct row_capture capture_at(uint64_t time_ns, uint64_t sequence)
{
	return (struct row_capture){
		.told = { .spike = { .sequence = sequence,
				     .time_ns = time_ns,
				     .latency_ns = 8 * MS },
			  .skid_ns = MS,
			  .history_ns = 20 * MS,
			  .trace_bytes = 4 * MIB - 1000,
			  .bytes_after_spike = 23,
			  .events = 8000 },
		.armed_ns = time_ns - 1000 * MS,
		.sentence = strdup("timer 8ms late: 8ms in interrupt, most of it in late_step()"),
		.named = true,
		.first_ns = time_ns - 10 * MS,
		.last_ns = time_ns,
		.perf_ran = true,
		.perf_named = true,
	};
}

/* Nothing is wrong with it. */
static struct row good_row(void)
{
	return (struct row){
		.recorder = PERF_POKE_RECORDER_PT,
		.freeze = PERF_POKE_FREEZE_PAUSE,
		.names = { "pt", "pause", "fasync" },
		.buffer_size = 4 * MIB,
		.captures = { capture_at(5000 * MS, 1), capture_at(6000 * MS, 2) },
		.nr = 2,
		.nr_taken = 2,
		.signals = 2,
	};
}

static void nothing(struct row *row)
{
}

static void of_events(struct row *row)
{
	row->recorder = PERF_POKE_RECORDER_EVENTS;
	row->freeze = PERF_POKE_FREEZE_AUTO;
	row->buffer_size = MIB;
	row->captures[0].told.lost = 400;
}

static void of_signal(struct row *row)
{
	row->freeze = PERF_POKE_FREEZE_SIGNAL;
	row->captures[0].told.bytes_after_spike = MIB;
	row->captures[0].errors = 5;
}

static void of_a_sample(struct row *row)
{
	row->freeze = PERF_POKE_FREEZE_SAMPLE;
	row->captures[0].told.trace_bytes = row->captures[1].told.trace_bytes = 50 << 10;
}

static void armed_just_now(struct row *row)
{
	row->captures[0].told.trace_bytes = 4000;
	row->captures[0].armed_ns = row->captures[0].told.spike.time_ns - 25 * MS;
}

static void one_merged(struct row *row)
{
	row->nr_taken = 3;
	row->merged = 1;
}

static void no_start(struct row *row)
{
	row_release(row);
	row->nr = row->nr_taken = row->signals = 0;
	row->failure = strdup("intel_pt is in use");
}

static void only_others(struct row *row)
{
	row_release(row);
	row->nr = 0;
	row->nr_taken = row->signals = 4;
}

static void one_failed(struct row *row)
{
	row->nr_failed = 1;
}

static void not_read(struct row *row)
{
	free(row->captures[1].sentence);
	row->captures[1].sentence = NULL;
}

static void not_named(struct row *row)
{
	row->captures[1].named = false;
}

static void paused_with_errors(struct row *row)
{
	row->captures[0].errors = 1;
}

static void perf_fails(struct row *row)
{
	strcpy(row->captures[0].perf_said, "Error: no");
}

static void perf_does_not_name(struct row *row)
{
	row->captures[0].perf_named = false;
}

static void only_the_last_segment(struct row *row)
{
	row->captures[0].told.trace_bytes = 1520;
}

static void too_small(struct row *row)
{
	row->buffer_size = 4096;
	row->captures[0].told.trace_bytes = 4000;
	row->captures[0].told.history_ns = 3 * MS;
}

static void without_a_point(struct row *row)
{
	row->captures[1].told.trace_bytes = 0;
	row->captures[1].told.history_ns = UINT64_MAX;
}

static void events_lost(struct row *row)
{
	of_events(row);
	row->captures[1].told.lost = 401;
}

static void ends_early(struct row *row)
{
	row->captures[0].last_ns -= 3 * MS;
}

static void ends_late(struct row *row)
{
	row->captures[0].last_ns += 2 * MS;
}

static void skids(struct row *row)
{
	row->captures[0].told.skid_ns = 300 * MS;
}

static void paused_too_late(struct row *row)
{
	row->captures[0].told.bytes_after_spike = 100000;
}

static void one_only(struct row *row)
{
	row_release(row);
	row->captures[0] = capture_at(5000 * MS, 1);
	row->nr = row->nr_taken = row->signals = 1;
}

static void old_bytes(struct row *row)
{
	row->captures[1].first_ns = row->captures[0].told.spike.time_ns - 1;
}

static void no_signal(struct row *row)
{
	row->signals = 0;
}

static void signalled_twice(struct row *row)
{
	row->signals = 3;
}

static void leaves_something(struct row *row)
{
	row_wrong(row, CHECK_CLEAN, "2 descriptors are open");
}

static const struct {
	void (*change)(struct row *row);
	int wrong; /* -1: nothing */
} cases[] = {
	{ nothing, -1 },
	{ of_events, -1 },
	{ of_signal, -1 },
	{ of_a_sample, -1 },
	{ armed_just_now, -1 },
	{ one_merged, -1 },
	{ no_start, CHECK_CAPTURED },
	{ only_others, CHECK_CAPTURED },
	{ one_failed, CHECK_CAPTURED },
	{ not_read, CHECK_CULPRIT },
	{ not_named, CHECK_CULPRIT },
	{ paused_with_errors, CHECK_CULPRIT },
	{ perf_fails, CHECK_PERF },
	{ perf_does_not_name, CHECK_PERF },
	{ only_the_last_segment, CHECK_HISTORY },
	{ too_small, CHECK_HISTORY },
	{ without_a_point, CHECK_HISTORY },
	{ events_lost, CHECK_HISTORY },
	{ ends_early, CHECK_END },
	{ ends_late, CHECK_END },
	{ skids, CHECK_SKID },
	{ paused_too_late, CHECK_SKID },
	{ one_only, CHECK_REARMED },
	{ old_bytes, CHECK_REARMED },
	{ no_signal, CHECK_SIGNAL },
	{ signalled_twice, CHECK_SIGNAL },
	{ leaves_something, CHECK_CLEAN },
};

/* Each fault is seen in its own column, and in no other. */
TEST(finds_each_fault)
{
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct row row = good_row();

		cases[i].change(&row);
		row_judge(&row);
		assert_int_equal(row_is_fine(&row), cases[i].wrong < 0);
		for (int check = 0; check < CHECK_NR; check++) {
			bool wrong = row.verdicts[check].result == RESULT_WRONG;

			if (wrong != (check == cases[i].wrong))
				fail_msg("case %zu, check %d: %s", i, check,
					 row.verdicts[check].why);
			assert_int_equal(wrong, row.verdicts[check].why[0] != '\0');
		}
		row_release(&row);
	}
}

/* What cannot be seen here is neither fine nor wrong. */
TEST(knows_what_it_does_not_know)
{
	struct row row = good_row();

	for (size_t i = 0; i < row.nr; i++) {
		struct row_capture *capture = &row.captures[i];

		capture->no_times = true;
		capture->named = capture->perf_ran = capture->perf_named = false;
		capture->first_ns = capture->last_ns = 0;
		capture->told.history_ns = capture->told.bytes_after_spike = UINT64_MAX;
	}
	row_judge(&row);
	assert_true(row_is_fine(&row));
	assert_int_equal(row.verdicts[CHECK_CULPRIT].result, RESULT_UNKNOWN);
	assert_int_equal(row.verdicts[CHECK_PERF].result, RESULT_UNKNOWN);
	assert_int_equal(row.verdicts[CHECK_END].result, RESULT_UNKNOWN);
	assert_int_equal(row.verdicts[CHECK_SKID].result, RESULT_UNKNOWN);
	assert_int_equal(row.verdicts[CHECK_HISTORY].result, RESULT_OK);
	assert_int_equal(row.verdicts[CHECK_SIGNAL].result, RESULT_OK);
	row_release(&row);
}

static const char table[] =
	"recorder  freeze  delivery   captured culprit  perf     history  end      skid     "
	"re-armed signal   clean   \n"
	"pt        pause   fasync     ok       ok       ok       WRONG    ok       ok       "
	"ok       WRONG    ok      \n"
	"    history: only 3ms, and the timer was late by 8ms\n"
	"    signal: 0 signals for 2 spikes\n";

TEST(prints_a_table)
{
	struct row row = good_row();
	char *text;
	size_t size;
	FILE *file = open_memstream(&text, &size);

	too_small(&row);
	no_signal(&row);
	row_judge(&row);
	row_print_head(file);
	row_print(file, &row);
	fclose(file);
	assert_string_equal(text, table);
	free(text);
	row_release(&row);
}

static json_object *get(json_object *object, const char *key)
{
	json_object *value = NULL;

	assert_true(json_object_object_get_ex(object, key, &value));
	return value;
}

TEST(tells_it_as_json)
{
	struct row row = good_row();
	json_object *object, *checks, *signal;

	row.names[1] = "-";
	row.captures[0].told.bytes_after_spike = row.captures[1].told.bytes_after_spike =
		UINT64_MAX;
	no_signal(&row);
	row_judge(&row);
	object = row_json(&row);
	checks = get(object, "checks");
	signal = get(checks, "signal");
	assert_string_equal(json_object_get_string(get(object, "type")), "row");
	assert_string_equal(json_object_get_string(get(object, "recorder")), "pt");
	assert_null(get(object, "freeze"));
	assert_false(json_object_get_boolean(get(object, "ok")));
	assert_int_equal(json_object_object_length(checks), CHECK_NR);
	assert_true(json_object_get_boolean(get(get(checks, "clean"), "ok")));
	assert_null(get(get(checks, "skid"), "ok"));
	assert_false(json_object_get_boolean(get(signal, "ok")));
	assert_string_equal(json_object_get_string(get(signal, "why")), "0 signals for 2 spikes");
	assert_int_equal(json_object_array_length(get(object, "captures")), 2);
	json_object_put(object);
	row_release(&row);
}
