// SPDX-License-Identifier: GPL-2.0-only
#include "output/output.h"

#include "analysis/timeline.h"
#include "test.h"

#include <string.h>

#define STEPS_MAX 256
#define PERIOD 10000

/* Activations of a timer each 10us; 1us later its interrupt, 200ns later its function. */
struct made {
	struct step steps[STEPS_MAX];
	size_t nr;
	struct watched watched;
	struct comparison comparison;
};

static void add(struct made *made, const struct step *steps, size_t nr)
{
	assert_true(made->nr + nr <= STEPS_MAX);
	memcpy(made->steps + made->nr, steps, nr * sizeof(*steps));
	made->nr += nr;
}

#define ADD(made, ...)                                                                             \
	add(made, (const struct step[]){ __VA_ARGS__ },                                            \
	    sizeof((struct step[]){ __VA_ARGS__ }) / sizeof(struct step))

static void add_interrupt(struct made *made, uint64_t at)
{
	ADD(made, ENTER(at, SPAN_INTERRUPT, "local_timer"), CALL(at + 200, "tick"),
	    RETURN(at + 500), RETURN(at + 600));
}

static void release(struct made *made)
{
	comparison_release(&made->comparison);
}

static void make(struct made *made, bool pt)
{
	assert_int_equal(timeline_make(&made->comparison.here, made->steps, made->nr, pt), 0);
}

static void compare(struct made *made, size_t max)
{
	made->watched.period_ns = made->watched.period_ns ?: PERIOD;
	assert_int_equal(account_finish(&made->comparison.here), 0);
	assert_int_equal(comparison_make(&made->comparison, &made->watched, max), 0);
}

static const char *most(const struct comparison *comparison)
{
	return account_name(&comparison->here, comparison->tree.nodes[comparison->most].name);
}

/* 8 of them, in the idle task; then one that another task delays. */
static void make_late(struct made *made)
{
	ADD(made, IDLE(0, "swapper/1"));
	for (uint64_t at = PERIOD; at < 90000; at += PERIOD)
		add_interrupt(made, at + 1000);
	ADD(made, { LANE_TASKS, 95000, SPAN_THREAD, NULL }, TASK(95000, "stress 7"),
	    ENTER(199500, SPAN_INTERRUPT, "local_timer"));
}

static void print_events(FILE *file)
{
	_cleanup_(release) struct made made = {};
	const struct comparison *comparison = &made.comparison;

	make_late(&made);
	make(&made, false);
	compare(&made, 100);
	assert_int_equal(comparison->activations.nr, 8);
	assert_int_equal(comparison->steps[COMPARISON_EXPIRY].median_ns, 1000);
	assert_int_equal(comparison->steps[COMPARISON_EXPIRY].here_ns, 99500);
	assert_int_equal(comparison->steps[COMPARISON_HANDLER].p99_ns, 200);
	assert_int_equal(comparison->steps[COMPARISON_WHOLE].median_ns, 1200);
	assert_int_equal(comparison->more_ns, 101000 - 1200);
	assert_string_equal(most(comparison), "stress");
	assert_int_equal(comparison->nodes[comparison->most].seen, 0);
	comparison_print(file, comparison, 10);
}

TEST(takes_the_newest)
{
	_cleanup_(release) struct made made = {};

	make_late(&made);
	make(&made, false);
	compare(&made, 6);
	assert_int_equal(made.comparison.activations.nr, 6);
	assert_int_equal(made.comparison.activations.array[0].begin, 30000);
	assert_int_equal(made.comparison.activations.array[5].begin, 80000);
}

/* Of each period a timer's function calls `work`; once it spins, with the CPU still in the
 * interrupt that a late thread waits for. */
static void make_functions(struct made *made, uint64_t spins_ns)
{
	ADD(made, IDLE(0, "swapper/1"), CALL(0, "do_idle"));
	for (uint64_t at = PERIOD; at <= 100000; at += PERIOD) {
		uint64_t late_ns = at == 100000 ? spins_ns : 0, end = at + 2000 + late_ns;

		ADD(made, ENTER(at + 1000, SPAN_INTERRUPT, "sysvec"), CALL(at + 1200, "tick"),
		    CALL(at + 1300, "wake"), RETURN(at + 1400));
		if (late_ns) {
			ADD(made, CALL(at + 1500, "flush"), CALL(at + 1600, "spin"),
			    RETURN(end - 200), RETURN(end - 100));
		}
		ADD(made, RETURN(end), RETURN(end));
		if (at == 100000)
			ADD(made, RETURN(end + 500));
		ADD(made, { LANE_TASKS, end + 500, SPAN_IDLE, NULL },
		    TASK(end + 500, "pp-cyclic/1 9"),
		    { LANE_TASKS, end + 1000, SPAN_THREAD, NULL });
		if (at < 100000)
			ADD(made, IDLE(end + 1000, "swapper/1"));
	}
}

static void make_thread_late(struct made *made)
{
	struct account *here = &made->comparison.here;

	make(made, true);
	here->facts.spike.kind = PERF_POKE_TRIGGER_THREAD;
	here->facts.spike.time_ns = 182600;
	here->facts.spike.actual_ns = 182500;
	here->facts.spike.latency_ns = 82500;
}

static void print_functions(FILE *file)
{
	_cleanup_(release) struct made made = {};
	const struct comparison *comparison = &made.comparison;
	const struct call_node *node;

	make_functions(&made, 80000);
	make_thread_late(&made);
	compare(&made, 100);
	node = &comparison->tree.nodes[comparison->most];
	assert_int_equal(comparison->activations.nr, 9);
	assert_int_equal(comparison->steps[COMPARISON_THREAD].median_ns, 1300);
	assert_int_equal(comparison->steps[COMPARISON_WHOLE].median_ns, 2500);
	assert_int_equal(comparison->steps[COMPARISON_WHOLE].here_ns, 82500);
	assert_int_equal(comparison->more_ns, 80000);
	assert_string_equal(most(comparison), "spin");
	assert_int_equal(node->begin, 101600);
	assert_int_equal(node->count, 1);
	assert_int_equal(node->total_ns, 80200);
	comparison_print(file, comparison, 10);
}

/* Another timer's interrupt comes first, and its function takes until the timer has expired. */
TEST(knows_an_expiry_within_an_interrupt)
{
	_cleanup_(release) struct made made = {};

	ADD(&made, IDLE(0, "swapper/1"), CALL(0, "do_idle"));
	for (uint64_t at = PERIOD; at < 100000; at += PERIOD) {
		ADD(&made, ENTER(at - 6000, SPAN_INTERRUPT, "sysvec"),
		    CALL(at - 5900, "sched_tick"), RETURN(at - 400), CALL(at - 300, "tick"),
		    RETURN(at + 400), RETURN(at + 500), { LANE_TASKS, at + 600, SPAN_IDLE, NULL },
		    TASK(at + 600, "pp-cyclic/1 9"), { LANE_TASKS, at + 1000, SPAN_THREAD, NULL },
		    IDLE(at + 1000, "swapper/1"));
	}
	ADD(&made, { LANE_TASKS, 182500, SPAN_IDLE, NULL }, TASK(182500, "pp-cyclic/1 9"));
	make_thread_late(&made);
	compare(&made, 100);
	assert_int_equal(made.comparison.activations.nr, 9);
	assert_int_equal(made.comparison.steps[COMPARISON_EXPIRY].median_ns, 0);
	assert_int_equal(made.comparison.steps[COMPARISON_WHOLE].median_ns, 6600);
}

/* Then lateness begins with the interrupt. */
TEST(knows_no_expiry_without_a_period)
{
	_cleanup_(release) struct made made = {};
	struct comparison *comparison = &made.comparison;

	make_functions(&made, 80000);
	make_thread_late(&made);
	assert_int_equal(account_finish(&comparison->here), 0);
	assert_int_equal(comparison_make(comparison, &made.watched, 100), 0);
	assert_int_equal(comparison->activations.nr, 9);
	assert_false(comparison->same_timer);
	assert_false(comparison->steps[COMPARISON_EXPIRY].known);
	assert_int_equal(comparison->steps[COMPARISON_WHOLE].median_ns, 1500);
	assert_string_equal(most(comparison), "spin");
}

/* One is later than the threshold, and of one a part is lost. */
TEST(leaves_out_what_was_late_or_lost)
{
	_cleanup_(release) struct made made = {};

	ADD(&made, IDLE(0, "swapper/1"));
	add_interrupt(&made, PERIOD + 1000);
	ADD(&made, GAP(PERIOD + 2000, SPAN_LOST, "[lost]"), END_GAP(2 * PERIOD + 1100));
	for (uint64_t at = 2 * PERIOD; at < 90000; at += PERIOD)
		add_interrupt(&made, at + (at == 3 * PERIOD ? 4500 : 1000));
	make(&made, false);
	made.comparison.here.facts.spike.threshold_ns = 4000;
	compare(&made, 100);
	assert_int_equal(made.comparison.activations.nr, 6);
	for (size_t i = 0; i < 6; i++)
		assert_int_not_equal(made.comparison.activations.array[i].begin / PERIOD, 3);
}

/* The timers of others have the same function, but expire at other times. */
TEST(leaves_out_other_timers)
{
	_cleanup_(release) struct made made = {};

	ADD(&made, IDLE(0, "swapper/1"));
	for (uint64_t at = PERIOD; at < 90000; at += PERIOD) {
		add_interrupt(&made, at + 1000);
		add_interrupt(&made, at + 7000);
	}
	make(&made, false);
	compare(&made, 100);
	assert_int_equal(made.comparison.activations.nr, 8);
	assert_int_equal(made.comparison.steps[COMPARISON_WHOLE].p99_ns, 1200);
}

static void print_few(FILE *file)
{
	_cleanup_(release) struct made made = {};

	ADD(&made, IDLE(0, "swapper/1"));
	for (uint64_t at = PERIOD; at < 50000; at += PERIOD)
		add_interrupt(&made, at + 1000);
	make(&made, false);
	compare(&made, 100);
	assert_int_equal(made.comparison.activations.nr, 4);
	assert_false(comparison_is_enough(&made.comparison));
	comparison_print(file, &made.comparison, 10);
}

/* A span of the trigger: of a thread's function, which once calls another one. */
static void print_span(FILE *file)
{
	_cleanup_(release) struct made made = {
		.watched = { .span = true,
			     .by_thread = true,
			     .entry = { .functions = { "acme_read" }, .nr = 1 },
			     .exit = { .functions = { "acme_read" }, .nr = 1, .at_return = true } },
	};
	struct facts *facts = &made.comparison.here.facts;

	ADD(&made, TASK(0, "acme 7"), CALL(0, "entry"));
	for (uint64_t at = PERIOD; at <= 100000; at += PERIOD) {
		uint64_t end = at == 100000 ? 200000 : at + 2000;

		ADD(&made, CALL(at, "acme_read"), CALL(at + 500, "copy"), RETURN(at + 1000));
		if (at == 100000) {
			ADD(&made, CALL(at + 1500, "acme_flush"), RETURN(end - 500));
		}
		ADD(&made, RETURN(end));
	}
	make(&made, true);
	facts->spike.kind = PERF_POKE_TRIGGER_REPORT;
	snprintf(facts->spike.label, sizeof(facts->spike.label), "read");
	compare(&made, 100);
	assert_int_equal(made.comparison.activations.nr, 9);
	assert_string_equal(most(&made.comparison), "acme_flush");
	comparison_print(file, &made.comparison, 10);
}

/* There it called `drain` instead of `flush`; names have other numbers there. */
static void print_against(FILE *file)
{
	_cleanup_(release) struct made here = {}, there = {};
	struct comparison *comparison = &here.comparison;

	ADD(&there, CALL(0, "elsewhere"), RETURN(10), CALL(100000, "drain"), RETURN(140000),
	    TASK(140000, "pp-cyclic/1 8"));
	make_thread_late(&there);
	assert_int_equal(account_finish(&there.comparison.here), 0);
	make_functions(&here, 80000);
	make_thread_late(&here);
	assert_int_equal(account_finish(&comparison->here), 0);
	comparison->there = there.comparison.here;
	there.comparison.here = (struct account){ .capture = NULL };
	comparison->there.capture = "yesterday";
	assert_int_equal(comparison_make(comparison, NULL, 0), 0);
	assert_string_equal(most(comparison), "spin");
	assert_int_equal(comparison->steps[COMPARISON_WHOLE].median_ns, 40000);
	comparison_print(file, comparison, 10);
}

TEST(has_json)
{
	_cleanup_(release) struct made made = {};
	json_object *json, *node;

	make_functions(&made, 80000);
	make_thread_late(&made);
	compare(&made, 100);
	json = comparison_json(&made.comparison, 10, true);
	assert_int_equal(json_object_get_int(json_object_object_get(json, "activations")), 9);
	assert_int_equal(json_object_get_int(json_object_object_get(json, "more_ns")), 80000);
	node = json_object_object_get(json, "most");
	assert_string_equal(json_object_get_string(json_object_object_get(node, "callers")),
			    "[ \"flush\", \"tick\", \"sysvec\" ]");
	assert_int_equal(json_object_array_length(json_object_object_get(json, "nodes")),
			 made.comparison.tree.nr);
	json_object_put(json);
}

/* A stranger's trace: no trace at all, and one of nothing but spans without length. */
TEST(takes_whatever_there_is)
{
	for (int i = 0; i < 2; i++) {
		_cleanup_(release) struct made made = {};

		for (int k = 0; k < 60 * i; k++)
			ADD(&made, CALL(99000, "tick"));
		make(&made, i);
		compare(&made, 100);
		assert_false(comparison_is_enough(&made.comparison));
	}
}

GOLDEN(PART(print_events), PART(print_functions), PART(print_span), PART(print_against),
       PART(print_few))
