// SPDX-License-Identifier: GPL-2.0-only
#include "events_spans.h"

#include <inttypes.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

static int read_text(struct spans *spans, const char *text, uint64_t begin)
{
	_cleanup_fclose_ FILE *file = fmemopen((void *)text, strlen(text), "r");

	assert_non_null(file);
	return events_spans_read(file, begin, 90, spans);
}

/* As `0 interrupt local_timer 1-2`, a line each. */
static void check_lane(const struct spans *spans, enum lane_number number, const char *expected)
{
	const struct lane *lane = &spans->lanes[number];
	_cleanup_free_ char *text = NULL;
	size_t size;
	FILE *file = open_memstream(&text, &size);

	for (uint32_t i = 0; i < lane->nr; i++)
		fprintf(file, "%d %s %s %" PRIu64 "-%" PRIu64 "%s\n", lane->spans[i].depth,
			span_kind_name((enum span_kind)lane->spans[i].kind),
			names_get(spans->names, lane->spans[i].name), lane->spans[i].begin,
			lane->spans[i].end, lane->spans[i].cut ? " cut" : "");
	fclose(file);
	assert_string_equal(text, expected);
}

#define SWITCH(time, tid, previous, next, next_tid)                                                \
	" " tid " [003] 0." time ": sched:sched_switch: prev_comm=" previous " prev_pid=" tid      \
	" prev_prio=120 prev_state=R ==> next_comm=" next " next_pid=" next_tid " next_prio=120\n"
#define EVENT(time, event, fields) "  7 [003] 0." time ":   " event ": " fields "\n"

static void reads_what_perf_prints(void **state)
{
	_cleanup_(spans_freep) struct spans *spans = NULL;

	(void)state;
	assert_int_equal(spans_new(&spans), 0);
	assert_int_equal(
		read_text(
			spans,
			EVENT("000000001", "irq_vectors:reschedule_exit", "vector=253") EVENT(
				"000000010", "irq_vectors:local_timer_entry",
				"vector=236") EVENT("000000011", "timer:hrtimer_expire_entry",
						    "hrtimer=0x1 function=tick_nohz_handler "
						    "now=5") EVENT("000000020",
								   "irq:irq_handler_entry",
								   "irq=24 name=eth 0")
				EVENT("000000022", "irq:irq_handler_exit",
				      "irq=24 ret=handled") EVENT("000000025",
								  "timer:hrtimer_expire_exit",
								  "hrtimer=0x1")
					EVENT("000000030", "irq_vectors:local_timer_exit",
					      "vector=236") EVENT("000000031", "irq:softirq_entry",
								  "vec=3 [action=NET_RX]")
						EVENT("000000040", "irq:softirq_exit",
						      "vec=3 [action=NET_RX]")
							SWITCH("000000050", "7", "a b", "swapper/3",
							       "0") "0 [003] 0.000000060: "
								    "irq_vectors:irq_work_entry: "
								    "v\n" SWITCH(
									    "000000070", "0",
									    "swapper/3",
									    "x ==> next_comm=", "9")
									    EVENT("000000080",
										  "sched:sched_"
										  "wakeup",
										  "comm=x pid=9"),
			0),
		0);
	check_lane(spans, LANE_CODE,
		   "0 interrupt local_timer 10-30\n"
		   "1 function tick_nohz_handler 11-25\n"
		   "2 interrupt irq 24 eth 0 20-22\n"
		   "0 softirq NET_RX 31-40\n"
		   "0 interrupt irq_work 60-70\n");
	check_lane(spans, LANE_TASKS,
		   "0 thread a b 7 1-50\n"
		   "0 idle swapper/3 50-70\n"
		   "0 thread  9 70-80\n"
		   "0 thread tid 7 80-90 cut\n");
	assert_int_equal(spans->begin, 1);
	assert_int_equal(spans->end, 90);
	assert_false(spans->has_functions);
}

/* An exit was lost: what is in it ends with what is around it. */
static void goes_on_after_lost_ends(void **state)
{
	_cleanup_(spans_freep) struct spans *spans = NULL;

	(void)state;
	assert_int_equal(spans_new(&spans), 0);
	assert_int_equal(
		read_text(spans,
			  EVENT("000000010", "irq_vectors:local_timer_entry", "vector=236")
				  EVENT("000000011", "irq:softirq_entry", "vec=3 [action=NET_RX]")
					  EVENT("000000030", "irq_vectors:local_timer_exit",
						"vector=236") EVENT("000000031", "irq:softirq_exit",
								    "vec=3 [action=NET_RX]"),
			  0),
		0);
	check_lane(spans, LANE_CODE, "0 interrupt local_timer 10-30\n1 softirq NET_RX 11-30\n");
	check_lane(spans, LANE_TASKS, "0 thread tid 7 10-90 cut\n");
}

/* Long before the window only what is still open then is kept. */
static void is_bounded(void **state)
{
	_cleanup_(spans_freep) struct spans *spans = NULL;
	_cleanup_free_ char *text = NULL;
	size_t size;
	FILE *file = open_memstream(&text, &size);

	(void)state;
	fputs(EVENT("000000001", "irq_vectors:local_timer_entry", "vector=236"), file);
	for (unsigned int i = 0; i < 200000; i++)
		fprintf(file,
			"7 [003] 0.%09u: irq:softirq_entry: vec=3 [action=RCU]\n"
			"7 [003] 0.%09u: irq:softirq_exit: vec=3 [action=RCU]\n",
			10 + 2 * i, 11 + 2 * i);
	fclose(file);
	assert_int_equal(spans_new(&spans), 0);
	assert_int_equal(read_text(spans, text, 10 + 2 * 200000), 0);
	assert_int_equal(spans->lanes[LANE_CODE].nr, 1);
	assert_int_equal(spans->lanes[LANE_CODE].spans[0].begin, 1);
	assert_in_range(spans->lanes[LANE_CODE].room, 1, 1 << 17);
	assert_int_equal(spans->begin, 10 + 2 * 200000);
}

static void takes_any_text(void **state)
{
	static const char *const texts[] = {
		"\n",
		"nothing\n",
		"7 [003] 0.1: \n",
		"7 [003] 0.000000001: irq_vectors: vector\n",
		"7 [003] 0.000000001: irq_vectors:_entry: vector\n",
		"7 [003] 99999999999999999999.000000001: irq:softirq_entry: x\n",
		"7 [003] 0.000000001: irq:softirq_entry: [action=\n",
		"7 [003] 0.000000001: sched:sched_switch: ==> next_comm= next_pid=\n",
		"7 [003] 0.000000001: sched:sched_switch: prev_comm===> next_comm= next_pid=\n",
		"7 [003] 0.000000001: irq:irq_handler_exit: irq=\n",
		"7 [003] 0.000000001: timer:hrtimer_expire_entry: \n",
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(texts); i++) {
		_cleanup_(spans_freep) struct spans *spans = NULL;
		int r;

		assert_int_equal(spans_new(&spans), 0);
		r = read_text(spans, texts[i], 0);
		assert_true(r == 0 || r == -ENODATA);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(reads_what_perf_prints),
		cmocka_unit_test(goes_on_after_lost_ends),
		cmocka_unit_test(is_bounded),
		cmocka_unit_test(takes_any_text),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
