// SPDX-License-Identifier: GPL-2.0-only
#include "compare/compare.h"

#include "analysis/events/made_tracepoints.h"
#include "analysis/timeline.h"
#include "test.h"

enum { BEGUN = 1, DONE };

static const struct made_format formats[] = {
	{ "acme:begun", MADE_FORMAT("begun", 1, MADE_FIELD("u64 id", 8, 8, 0), "\"\""), 1 },
	{ "acme:done", MADE_FORMAT("done", 2, MADE_FIELD("u64 id", 8, 8, 0), "\"\""), 2 },
};

static struct made_sample event(uint16_t id, uint64_t time, uint32_t tid)
{
	const uint64_t fields[] = { 0 };

	return made_sample(id, time, tid, fields, sizeof(fields));
}

TEST_IN_FOLDER(reads_events)
{
	const struct made_sample samples[] = { event(BEGUN, 90, 7), event(BEGUN, 95, 8),
					       event(DONE, 100, 7) };
	const struct watched watched = { .entry.event = "acme:begun",
					 .exit.event = "acme:done",
					 .by_thread = true };
	_cleanup_(tracepoints_freep) struct tracepoints *tracepoints = NULL;
	struct marks marks = {};

	tracepoints = made_tracepoints_open(folder, formats, 2, samples,
					    sizeof(samples) / sizeof(*samples), "");
	assert_int_equal(span_marks_read(&marks, &watched, tracepoints, 0), 0);
	assert_int_equal(marks.nr, 3);
	assert_int_equal(marks.array[0].at, 90);
	assert_int_equal(marks.array[2].thread, 7);
	assert_true(marks.array[2].is_exit && !marks.array[1].is_exit);
	free(marks.array);
}

static struct marks find(struct account *account, const struct watched *watched)
{
	struct marks marks = {};

	assert_int_equal(span_marks_find(&marks, watched, account->spans), 0);
	spans_free(account->spans);
	return marks;
}

/* The function waits: it is cut where its thread's turn ends. */
TEST(finds_a_function_that_sleeps)
{
	const struct watched watched = {
		.entry = { .functions = { "read" }, .nr = 1 },
		.exit = { .functions = { "read" }, .nr = 1, .at_return = true },
		.by_thread = true
	};
	struct account account;
	struct marks marks;

	assert_int_equal(TIMELINE(&account, true, TASK(100, "acme 7"), CALL(200, "read"),
				  RETURN(300), { LANE_TASKS, 300, SPAN_THREAD, NULL },
				  IDLE(300, "swapper/1"), { LANE_TASKS, 400, SPAN_IDLE, NULL },
				  TASK(400, "acme 7"), CALL(400, "read"), RETURN(450),
				  CALL(500, "other"), RETURN(550)),
			 0);
	marks = find(&account, &watched);
	assert_int_equal(marks.nr, 2);
	assert_int_equal(marks.array[0].at, 200);
	assert_int_equal(marks.array[1].at, 450);
	assert_int_equal(marks.array[0].thread, marks.array[1].thread);
	free(marks.array);
}

/* What a tracepoint calls calls the program; a function may call itself. */
TEST(finds_the_outermost_only)
{
	const struct watched watched = {
		.entry = { .functions = { "__traceiter_begun", "__bpf_trace_begun" }, .nr = 2 },
		.exit = { .functions = { "drain" }, .nr = 1, .at_return = true },
	};
	struct account account;
	struct marks marks;

	assert_int_equal(TIMELINE(&account, true, CALL(100, "begin"),
				  CALL(200, "__traceiter_begun"), CALL(210, "__bpf_trace_begun"),
				  RETURN(220), RETURN(230), RETURN(240), CALL(300, "drain"),
				  CALL(310, "drain"), RETURN(320), RETURN(330)),
			 0);
	marks = find(&account, &watched);
	assert_int_equal(marks.nr, 2);
	assert_int_equal(marks.array[0].at, 200);
	assert_int_equal(marks.array[1].at, 330);
	free(marks.array);
}
