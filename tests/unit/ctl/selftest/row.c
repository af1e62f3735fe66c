// SPDX-License-Identifier: GPL-2.0-only
#include "selftest/selftest.h"
#include "test.h"

#include <stdlib.h>
#include <string.h>

#define MS UINT64_C(1000000)
#define MIB (UINT64_C(1) << 20)

static struct row_capture capture_at(uint64_t time_ns, const struct perf_poke_spike *spike)
{
	return (struct row_capture){
		.told = { .spike = spike,
			  .skid_ns = MS,
			  .history_ns = 20 * MS,
			  .trace_bytes = 4 * MIB - 1000,
			  .events = 8000 },
		.armed_ns = time_ns - 1000 * MS,
		.sentence = strdup("IRQ latency 8ms: 8ms in interrupt, most of it in late_step()"),
		.named = true,
		.first_ns = time_ns - 10 * MS,
		.last_ns = time_ns,
		.after_insns = 2000,
		.perf_ran = true,
		.perf_named = true,
	};
}

#define SPIKE(nr, at_ms)                                                                           \
	{                                                                                          \
		.sequence = nr, .time_ns = at_ms * MS, .latency_ns = 8 * MS                        \
	}

static const struct perf_poke_spike spikes[] = { SPIKE(1, 5000), SPIKE(2, 6000) };

/* A row without a fault. */
static struct row good_row(void)
{
	return (struct row){
		.recorder = PERF_POKE_RECORDER_PT,
		.freeze = PERF_POKE_FREEZE_PAUSE,
		.names = { "pt", "pause", "fasync" },
		.buffer_size = 4 * MIB,
		.captures = { capture_at(5000 * MS, &spikes[0]),
			      capture_at(6000 * MS, &spikes[1]) },
		.nr = 2,
		.nr_taken = 2,
		.signals = 2,
	};
}

/* A row with a fault that shows in the column `wrong` only; CHECK_NR: in none. */
#define JUDGE(wrong, ...)                                                                          \
	do {                                                                                       \
		struct row row = good_row();                                                       \
		struct row_capture *first = &row.captures[0], *second = &row.captures[1];          \
                                                                                                   \
		(void)first, (void)second;                                                         \
		__VA_ARGS__;                                                                       \
		row_judge_checks(&row);                                                            \
		check(&row, wrong, #__VA_ARGS__);                                                  \
		row_release_all(&row);                                                             \
	} while (0)

static void check(const struct row *row, int wrong, const char *what)
{
	assert_int_equal(row_passed_checks(row), wrong == CHECK_NR);
	for (int check = 0; check < CHECK_NR; check++) {
		const char *why = row->verdicts[check].why;

		if ((row->verdicts[check].result == RESULT_WRONG) != (check == wrong) ||
		    (why[0] != '\0') != (check == wrong))
			fail_msg("%s: check %d: %s", what, check, why);
	}
}

/* Keeps this many captures. */
static void only(struct row *row, size_t nr)
{
	row_release_all(row);
	row->captures[0] = nr ? capture_at(5000 * MS, &spikes[0]) : (struct row_capture){};
	row->nr = row->nr_taken = row->signals = nr;
}

static void of_events(struct row *row, uint64_t lost)
{
	row->recorder = PERF_POKE_RECORDER_EVENTS;
	row->freeze = PERF_POKE_FREEZE_AUTO;
	row->buffer_size = MIB;
	row->captures[0].told.lost = lost;
}

TEST(judges)
{
	JUDGE(CHECK_NR, );
	JUDGE(CHECK_NR, of_events(&row, 400));
	JUDGE(CHECK_NR, row.freeze = PERF_POKE_FREEZE_SIGNAL; first->after_insns = 1000000;
	      first->errors = 5);
	JUDGE(CHECK_NR, row.freeze = PERF_POKE_FREEZE_SAMPLE;
	      first->told.trace_bytes = second->told.trace_bytes = 50 << 10);
	/* Armed just now. */
	JUDGE(CHECK_NR, first->told.trace_bytes = 4000;
	      first->armed_ns = first->told.spike->time_ns - 25 * MS);
	JUDGE(CHECK_NR, row.nr_taken = 3; row.merged = 1);
	JUDGE(CHECK_CAPTURED, only(&row, 0); row.failure = strdup("intel_pt is in use"));
	/* Only spikes that the test did not make. */
	JUDGE(CHECK_CAPTURED, only(&row, 0); row.nr_taken = row.signals = 4);
	JUDGE(CHECK_CAPTURED, row.nr_failed = 1);
	JUDGE(CHECK_CULPRIT, free(second->sentence); second->sentence = NULL);
	JUDGE(CHECK_CULPRIT, second->named = false);
	JUDGE(CHECK_CULPRIT, first->errors = 1);
	JUDGE(CHECK_PERF, strcpy(first->perf_said, "Error: no"));
	JUDGE(CHECK_PERF, first->perf_named = false);
	/* Only the last segment of a ring; a buffer too small; no synchronisation point. */
	JUDGE(CHECK_HISTORY, first->told.trace_bytes = 1520);
	JUDGE(CHECK_HISTORY, row.buffer_size = 4096; first->told.trace_bytes = 4000;
	      first->told.history_ns = 3 * MS);
	JUDGE(CHECK_HISTORY, second->told.trace_bytes = 0; second->told.history_ns = UINT64_MAX);
	JUDGE(CHECK_HISTORY, of_events(&row, 401));
	JUDGE(CHECK_END, first->last_ns -= 3 * MS);
	JUDGE(CHECK_END, first->last_ns += 2 * MS);
	JUDGE(CHECK_SKID, first->told.skid_ns = 300 * MS);
	JUDGE(CHECK_SKID, first->after_insns = 50001);
	JUDGE(CHECK_REARMED, only(&row, 1));
	/* Bytes from before the last spike. */
	JUDGE(CHECK_REARMED, second->first_ns = first->told.spike->time_ns - 1);
	JUDGE(CHECK_SIGNAL, row.signals = 0);
	JUDGE(CHECK_SIGNAL, row.signals = 3);
	JUDGE(CHECK_CLEAN, row_set_wrong(&row, CHECK_CLEAN, "2 descriptors are open"));
}

/* A check that cannot be made here is neither fine nor wrong. */
TEST(knows_what_it_does_not_know)
{
	struct row row = good_row();

	for (size_t i = 0; i < row.nr; i++) {
		struct row_capture *capture = &row.captures[i];

		capture->no_times = true;
		capture->named = capture->perf_ran = capture->perf_named = false;
		capture->first_ns = capture->last_ns = 0;
		capture->told.history_ns = capture->after_insns = UINT64_MAX;
	}
	row_judge_checks(&row);
	assert_true(row_passed_checks(&row));
	assert_int_equal(row.verdicts[CHECK_CULPRIT].result, RESULT_UNKNOWN);
	assert_int_equal(row.verdicts[CHECK_PERF].result, RESULT_UNKNOWN);
	assert_int_equal(row.verdicts[CHECK_END].result, RESULT_UNKNOWN);
	assert_int_equal(row.verdicts[CHECK_SKID].result, RESULT_UNKNOWN);
	assert_int_equal(row.verdicts[CHECK_HISTORY].result, RESULT_OK);
	assert_int_equal(row.verdicts[CHECK_SIGNAL].result, RESULT_OK);
	row_release_all(&row);
}

static const char table[] =
	"recorder  freeze  delivery   captured culprit  perf     history  end      skid     "
	"re-armed signal   clean   \n"
	"pt        pause   fasync     ok       ok       ok       WRONG    ok       ok       "
	"ok       WRONG    ok      \n"
	"    history: only 3ms for a latency of 8ms\n"
	"    signal: 0 signals for 2 spikes\n";

TEST(prints_a_table)
{
	struct row row = good_row();
	_cleanup_free_ char *text = NULL;

	row.buffer_size = 4096;
	row.captures[0].told.trace_bytes = 4000;
	row.captures[0].told.history_ns = 3 * MS;
	row.signals = 0;
	row_judge_checks(&row);
	text = WRITTEN(file, row_print_header(file); row_print_result(file, &row));
	assert_string_equal(text, table);
	row_release_all(&row);
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
	row.captures[0].after_insns = row.captures[1].after_insns = UINT64_MAX;
	row.signals = 0;
	row_judge_checks(&row);
	object = row_json_object(&row);
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
	row_release_all(&row);
}
