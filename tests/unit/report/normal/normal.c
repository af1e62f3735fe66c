// SPDX-License-Identifier: GPL-2.0-only
#include "normal/normal.h"

#include "normal/ends.h"
#include "report/timeline.h"
#include "test.h"

#define STEPS_MAX 256
#define PERIOD 10000

/* Activations of a timer each 10us; 1us later its interrupt, 200ns later its function. */
struct made {
	struct step steps[STEPS_MAX];
	size_t nr;
	struct expiry expiries[32];
	struct timer timer;
	struct account account;
	struct normal normal;
};

static void add(struct made *made, struct step step)
{
	assert_true(made->nr < STEPS_MAX);
	made->steps[made->nr++] = step;
}

static void add_interrupt(struct made *made, uint64_t at)
{
	add(made, ENTER(at, SPAN_INTERRUPT, "local_timer"));
	made->expiries[made->timer.nr++] = (struct expiry){ at + 200, at / PERIOD * PERIOD };
	add(made, CALL(at + 200, "tick"));
	add(made, RETURN(at + 500));
	add(made, RETURN(at + 600));
}

static void release(struct made *made)
{
	normal_release(&made->normal);
	account_release(&made->account);
}

static void compare(struct made *made, bool pt, size_t max)
{
	assert_int_equal(timeline_make(&made->account, made->steps, made->nr, pt), 0);
	assert_int_equal(account_finish(&made->account), 0);
	if (!pt)
		made->timer.expiries = made->expiries;
	else
		made->timer.nr = 0;
	assert_int_equal(normal_make(&made->normal, &made->account, &made->timer, max), 0);
}

static const char *node_name(const struct made *made, uint32_t node)
{
	if (!node)
		return "-";
	return names_get(made->account.spans->names, made->normal.paths.nodes[node].name);
}

/* 8 of them, in the idle task; then one that another task delays. */
static void make_late(struct made *made)
{
	add(made, IDLE(0, "swapper/1"));
	for (uint64_t at = PERIOD; at < 90000; at += PERIOD)
		add_interrupt(made, at + 1000);
	add(made, (struct step){ LANE_TASKS, 95000, SPAN_THREAD, NULL });
	add(made, TASK(95000, "stress 7"));
	add(made, ENTER(199500, SPAN_INTERRUPT, "local_timer"));
}

static void print_events(FILE *file)
{
	_cleanup_(release) struct made made = {};
	const struct normal *normal = &made.normal;

	make_late(&made);
	compare(&made, false, 100);
	assert_int_equal(normal->activations.nr, 8);
	assert_int_equal(normal->steps[NORMAL_EXPIRY].median_ns, 1000);
	assert_int_equal(normal->steps[NORMAL_EXPIRY].here_ns, 99500);
	assert_int_equal(normal->steps[NORMAL_HANDLER].p99_ns, 200);
	assert_int_equal(normal->steps[NORMAL_WHOLE].median_ns, 1200);
	assert_int_equal(normal->more_ns, 101000 - 1200);
	assert_string_equal(node_name(&made, normal->most), "stress");
	assert_string_equal(node_name(&made, normal->parts), "stress");
	assert_int_equal(normal->parts_ns, 100000);
	assert_int_equal(normal->after, 0);
	assert_int_equal(normal->nodes[normal->most].seen, 0);
	normal_print(file, normal, 10);
}

TEST(takes_the_newest)
{
	_cleanup_(release) struct made made = {};

	make_late(&made);
	compare(&made, false, 6);
	assert_int_equal(made.normal.activations.nr, 6);
	assert_int_equal(made.normal.activations.normal[0].begin, 30000);
	assert_int_equal(made.normal.activations.normal[5].begin, 80000);
}

/* Of each period a timer's function calls `work`; once it spins, with the CPU still in the
 * interrupt that a late thread waits for. */
static void make_functions(struct made *made, uint64_t spins_ns)
{
	add(made, IDLE(0, "swapper/1"));
	add(made, CALL(0, "do_idle"));
	for (uint64_t at = PERIOD; at <= 100000; at += PERIOD) {
		uint64_t late_ns = at == 100000 ? spins_ns : 0, end = at + 2000 + late_ns;

		add(made, ENTER(at + 1000, SPAN_INTERRUPT, "sysvec"));
		add(made, CALL(at + 1200, "tick"));
		add(made, CALL(at + 1300, "wake"));
		add(made, RETURN(at + 1400));
		if (late_ns) {
			add(made, CALL(at + 1500, "flush"));
			add(made, CALL(at + 1600, "spin"));
			add(made, RETURN(end - 200));
			add(made, RETURN(end - 100));
		}
		add(made, RETURN(end));
		add(made, RETURN(end));
		if (at == 100000)
			add(made, RETURN(end + 500));
		add(made, (struct step){ LANE_TASKS, end + 500, SPAN_IDLE, NULL });
		add(made, TASK(end + 500, "pp-cyclic/1 9"));
		add(made, (struct step){ LANE_TASKS, end + 1000, SPAN_THREAD, NULL });
		if (at < 100000)
			add(made, IDLE(end + 1000, "swapper/1"));
	}
}

static void compare_functions(struct made *made, uint64_t period_ns)
{
	made->timer.period_ns = period_ns;
	assert_int_equal(timeline_make(&made->account, made->steps, made->nr, true), 0);
	made->account.facts.thread = true;
	made->account.facts.time_ns = 182600;
	made->account.facts.actual_ns = 182500;
	made->account.facts.latency_ns = 82500;
	assert_int_equal(account_finish(&made->account), 0);
	assert_int_equal(normal_make(&made->normal, &made->account, &made->timer, 100), 0);
}

static void print_functions(FILE *file)
{
	_cleanup_(release) struct made made = {};
	const struct normal *normal = &made.normal;

	make_functions(&made, 80000);
	compare_functions(&made, PERIOD);
	assert_int_equal(normal->activations.nr, 9);
	assert_int_equal(normal->steps[NORMAL_THREAD].median_ns, 1300);
	assert_int_equal(normal->steps[NORMAL_WHOLE].median_ns, 2500);
	assert_int_equal(normal->steps[NORMAL_WHOLE].here_ns, 82500);
	assert_int_equal(normal->more_ns, 80000);
	assert_string_equal(node_name(&made, normal->most), "spin");
	assert_string_equal(node_name(&made, normal->parts), "spin");
	assert_string_equal(node_name(&made, normal->after), "flush");
	assert_int_equal(normal->parts_ns, 101600);
	normal_print(file, normal, 10);
}

/* Another timer's interrupt comes first, and its function takes until the timer has expired. */
TEST(knows_an_expiry_within_an_interrupt)
{
	_cleanup_(release) struct made made = {};

	add(&made, IDLE(0, "swapper/1"));
	add(&made, CALL(0, "do_idle"));
	for (uint64_t at = PERIOD; at < 100000; at += PERIOD) {
		add(&made, ENTER(at - 6000, SPAN_INTERRUPT, "sysvec"));
		add(&made, CALL(at - 5900, "sched_tick"));
		add(&made, RETURN(at - 400));
		add(&made, CALL(at - 300, "tick"));
		add(&made, RETURN(at + 400));
		add(&made, RETURN(at + 500));
		add(&made, (struct step){ LANE_TASKS, at + 600, SPAN_IDLE, NULL });
		add(&made, TASK(at + 600, "pp-cyclic/1 9"));
		add(&made, (struct step){ LANE_TASKS, at + 1000, SPAN_THREAD, NULL });
		add(&made, IDLE(at + 1000, "swapper/1"));
	}
	add(&made, (struct step){ LANE_TASKS, 182500, SPAN_IDLE, NULL });
	add(&made, TASK(182500, "pp-cyclic/1 9"));
	compare_functions(&made, PERIOD);
	assert_int_equal(made.normal.activations.nr, 9);
	assert_int_equal(made.normal.steps[NORMAL_EXPIRY].median_ns, 0);
	assert_int_equal(made.normal.steps[NORMAL_WHOLE].median_ns, 6600);
}

/* Then lateness begins with the interrupt. */
TEST(knows_no_expiry_without_a_period)
{
	_cleanup_(release) struct made made = {};

	make_functions(&made, 80000);
	compare_functions(&made, 0);
	assert_int_equal(made.normal.activations.nr, 9);
	assert_false(made.normal.same_timer);
	assert_false(made.normal.steps[NORMAL_EXPIRY].normal_known);
	assert_int_equal(made.normal.steps[NORMAL_WHOLE].median_ns, 1500);
	assert_string_equal(node_name(&made, made.normal.most), "spin");
}

TEST(leaves_out_what_was_late_or_lost)
{
	_cleanup_(release) struct made made = {};

	add(&made, IDLE(0, "swapper/1"));
	add_interrupt(&made, PERIOD + 1000);
	add(&made, GAP(PERIOD + 2000, SPAN_LOST, "[lost]"));
	add(&made, END_GAP(2 * PERIOD + 1100));
	for (uint64_t at = 2 * PERIOD; at < 90000; at += PERIOD)
		add_interrupt(&made, at + (at == 3 * PERIOD ? 6000 : 1000));
	made.timer.expiries = made.expiries;
	assert_int_equal(timeline_make(&made.account, made.steps, made.nr, false), 0);
	made.account.facts.threshold_ns = 5000;
	assert_int_equal(account_finish(&made.account), 0);
	assert_int_equal(normal_make(&made.normal, &made.account, &made.timer, 100), 0);
	assert_int_equal(made.normal.activations.nr, 6);
	for (size_t i = 0; i < 6; i++)
		assert_int_not_equal(made.normal.activations.normal[i].begin / PERIOD, 3);
}

/* The timers of others have the same function. */
TEST(leaves_out_other_timers)
{
	_cleanup_(release) struct made made = {};

	make_late(&made);
	made.expiries[2].at++;
	compare(&made, false, 100);
	assert_int_equal(made.normal.activations.nr, 7);
}

static void print_few(FILE *file)
{
	_cleanup_(release) struct made made = {};

	add(&made, IDLE(0, "swapper/1"));
	for (uint64_t at = PERIOD; at < 50000; at += PERIOD)
		add_interrupt(&made, at + 1000);
	compare(&made, false, 100);
	assert_int_equal(made.normal.activations.nr, 4);
	assert_false(normal_is_enough(&made.normal));
	normal_print(file, &made.normal, 10);
}

/* A span of the trigger: of a thread's function, which once calls another one. */
static void print_span(FILE *file)
{
	static const struct ends ends = {
		.entry = { .functions = { "acme_read" }, .nr = 1 },
		.exit = { .functions = { "acme_read" }, .nr = 1, .at_return = true },
		.by_thread = true,
	};
	_cleanup_(release) struct made made = { .timer.ends = &ends };

	add(&made, TASK(0, "acme 7"));
	add(&made, CALL(0, "entry"));
	for (uint64_t at = PERIOD; at <= 100000; at += PERIOD) {
		uint64_t end = at == 100000 ? 200000 : at + 2000;

		add(&made, CALL(at, "acme_read"));
		add(&made, CALL(at + 500, "copy"));
		add(&made, RETURN(at + 1000));
		if (at == 100000) {
			add(&made, CALL(at + 1500, "acme_flush"));
			add(&made, RETURN(end - 500));
		}
		add(&made, RETURN(end));
	}
	assert_int_equal(timeline_make(&made.account, made.steps, made.nr, true), 0);
	made.account.facts.thread = made.account.facts.reported = true;
	snprintf(made.account.facts.label, sizeof(made.account.facts.label), "read");
	assert_int_equal(account_finish(&made.account), 0);
	assert_int_equal(normal_make(&made.normal, &made.account, &made.timer, 100), 0);
	assert_int_equal(made.normal.activations.nr, 9);
	assert_string_equal(node_name(&made, made.normal.most), "acme_flush");
	normal_print(file, &made.normal, 10);
}

/* Yesterday it did not call `flush`; names have other numbers there, and the late one is alone. */
static void print_against(FILE *file)
{
	_cleanup_(release) struct made here = {}, there = {};

	add(&there, CALL(0, "elsewhere"));
	add(&there, RETURN(10));
	make_functions(&there, 0);
	compare_functions(&there, PERIOD);
	there.account.capture = "yesterday";
	make_functions(&here, 80000);
	compare_functions(&here, PERIOD);
	normal_release(&here.normal);
	assert_int_equal(
		normal_make_against(&here.normal, &here.account, &here.timer, &there.normal), 0);
	assert_int_equal(here.normal.activations.nr, 9);
	assert_int_equal(there.normal.activations.nr, 0);
	assert_string_equal(node_name(&here, here.normal.most), "spin");
	assert_string_equal(node_name(&here, here.normal.after), "flush");
	assert_int_equal(here.normal.steps[NORMAL_WHOLE].median_ns, 2500);
	normal_print(file, &here.normal, 10);
}

TEST(has_json)
{
	_cleanup_(release) struct made made = {};
	json_object *json, *most;

	make_functions(&made, 80000);
	compare_functions(&made, PERIOD);
	json = normal_json(&made.normal, 10);
	assert_int_equal(json_object_get_int(json_object_object_get(json, "activations")), 9);
	assert_int_equal(json_object_get_int(json_object_object_get(json, "more_ns")), 80000);
	most = json_object_object_get(json, "most");
	assert_string_equal(json_object_get_string(json_object_object_get(most, "callers")),
			    "[ \"flush\", \"tick\", \"sysvec\" ]");
	json_object_put(json);
}

/* A stranger's trace: no trace at all, and one of nothing but spans without length. */
TEST(takes_whatever_there_is)
{
	for (int i = 0; i < 2; i++) {
		_cleanup_(release) struct made made = {};

		for (int k = 0; k < 60 * i; k++)
			add(&made, CALL(99000, "tick"));
		compare(&made, i, 100);
		assert_false(normal_is_enough(&made.normal));
	}
}

GOLDEN(PART(print_events), PART(print_functions), PART(print_span), PART(print_against),
       PART(print_few))
