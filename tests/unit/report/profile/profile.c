// SPDX-License-Identifier: GPL-2.0-only
#include "profile/profile.h"

#include "report/timeline.h"
#include "test.h"

#define FRAME(text)                                                                                \
	{                                                                                          \
		text, "", false, true                                                              \
	}

static void give_stack(struct account *account, const struct spike_frame *frames, size_t nr)
{
	account->facts.stack.nr = nr;
	memcpy(account->facts.stack.frames, frames, nr * sizeof(*frames));
}

/* As `parent>name self`, and then senders and tasks. */
static void check(struct account *account, const char *wanted)
{
	_cleanup_(profile_release) struct profile profile;
	_cleanup_free_ char *text = NULL;

	assert_int_equal(account_finish(account), 0);
	assert_int_equal(profile_make(&profile, account), 0);
	text = WRITTEN(file, {
		fprintf(file, "%llu:", (unsigned long long)profile.window_ns);
		for (uint32_t i = 1; i < profile.nr_nodes; i++)
			fprintf(file, " %u>%s %llu,", profile.nodes[i].parent,
				profile.nodes[i].name,
				(unsigned long long)profile.nodes[i].self_ns);
		for (size_t i = 0; i < profile.senders.nr; i++)
			fprintf(file, " from %s %llu,", profile.senders.rows[i].name,
				(unsigned long long)profile.senders.rows[i].ns);
		for (size_t i = 0; i < profile.tasks.nr; i++)
			fprintf(file, " in %s %llu,", profile.tasks.rows[i].name,
				(unsigned long long)profile.tasks.rows[i].ns);
	});
	assert_string_equal(text, wanted);
}

/* The latency is from 100us to 200us. */
TEST(is_of_the_latency_alone)
{
	_cleanup_(account_release) struct account account;

	assert_int_equal(TIMELINE(&account, true, TASK(0, "stress 7"), CALL(0, "before"),
				  RETURN(99000), CALL(99000, "acme_write"),
				  CALL(90000, "acme_flush.isra.0"),
				  ENTER(120000, SPAN_INTERRUPT, "asm_sysvec_reschedule_ipi"),
				  CALL(121000, "sched_ttwu_pending"), RETURN(129000),
				  RETURN(130000), RETURN(180000)),
			 0);
	check(&account, "100000: 0>acme_write 20000, 1>acme_flush 70000, 0>[reschedule] 2000, "
			"3>sched_ttwu_pending 8000, in stress 90000,");
}

TEST(of_a_control_is_of_the_whole_report)
{
	_cleanup_(account_release) struct account account;

	assert_int_equal(TIMELINE(&account, true, TASK(1000, "stress 7"), CALL(1000, "before"),
				  RETURN(51000), CALL(51000, "after")),
			 0);
	account.facts.control = true;
	check(&account, "200000: 0>before 50000, 0>after 150000, in stress 200000,");
}

/* Events have no functions, but a stack: as long as the cause, and out of the task's time. */
TEST(has_the_whole_stack_with_interrupts_off)
{
	static const struct spike_frame frames[] = { FRAME("_raw_spin_unlock_irqrestore"),
						     FRAME("acme_flush.isra.0"),
						     FRAME("acme_write"),
						     { "libc.so.6+0x12", "", true, false } };
	_cleanup_(account_release) struct account account;

	assert_int_equal(TIMELINE(&account, false, TASK(0, "stress 7"),
				  ENTER(190000, SPAN_INTERRUPT, "local_timer")),
			 0);
	give_stack(&account, frames, ARRAY_SIZE(frames));
	check(&account,
	      "100000: 0>task:stress 0, 0>[local_timer] 10000, 0>acme_write 0, 3>acme_flush "
	      "90000, 4>_raw_spin_unlock_irqrestore 0, in stress 90000,");
}

TEST(without_a_trace_has_the_stack)
{
	static const struct spike_frame frames[] = { FRAME("_raw_spin_unlock_irqrestore"),
						     FRAME("acme_flush") };
	_cleanup_(account_release) struct account account;

	assert_int_equal(TIMELINE(&account, false), 0);
	account.facts.none = true;
	give_stack(&account, frames, ARRAY_SIZE(frames));
	check(&account,
	      "100000: 0>acme_flush 100000, 1>_raw_spin_unlock_irqrestore 0, in stress 0,");
}

/* What called the first function is known by the stack alone. */
TEST(continues_a_trace_by_the_stack)
{
	static const struct spike_frame frames[] = { FRAME("acme_spin"), FRAME("acme_flush"),
						     FRAME("acme_write") };
	_cleanup_(account_release) struct account account;

	assert_int_equal(TIMELINE(&account, true, TASK(0, "stress 7"), CALL(90000, "acme_flush"),
				  CALL(95000, "acme_spin")),
			 0);
	give_stack(&account, frames, ARRAY_SIZE(frames));
	check(&account,
	      "100000: 0>acme_write 0, 1>acme_flush 0, 2>acme_spin 100000, in stress 100000,");
}

TEST(has_the_time_of_what_was_sent)
{
	static const struct senders senders = {
		.rows = { { .time = 90000,
			    .tid = 5,
			    .function = "old",
			    .nr_callers = 1,
			    .callers = { "gone" } },
			  { .time = 105000,
			    .tid = 5,
			    .function = "acme_ipi",
			    .nr_callers = 1,
			    .callers = { "acme_kick" } },
			  { .time = 106000, .tid = 5, .nr_callers = 1, .callers = { "acme_kick" } },
			  { .time = 140000, .tid = 6, .task = "pool-12" } },
		.nr = 4,
	};
	_cleanup_(account_release) struct account account;

	assert_int_equal(TIMELINE(&account, false, IDLE(0, "swapper/1"),
				  ENTER(110000, SPAN_INTERRUPT, "call_function_single"),
				  CALL(111000, "acme_ipi"), RETURN(129000), RETURN(130000),
				  ENTER(150000, SPAN_INTERRUPT, "reschedule"), RETURN(151000)),
			 0);
	account.facts.senders = &senders;
	account.facts.idle = true;
	check(&account,
	      "100000: 0>task:idle 79000, 0>[call_function_single] 2000, 2>acme_ipi 18000, "
	      "0>[reschedule] 1000, from acme_kick 20000, from pool 1000, in idle 79000,");
}

/* 600 functions of 100ns each, one of which takes longer. */
TEST(keeps_the_longest)
{
	_cleanup_(account_release) struct account account;
	_cleanup_(profile_release) struct profile profile;
	struct step steps[1201] = { CALL(100000, "caller") };
	char names[600][16];
	uint64_t sum = 0;

	for (size_t i = 0; i < 600; i++) {
		snprintf(names[i], sizeof(names[i]), "called_%zu", i);
		steps[2 * i + 1] = CALL(110000 + i * 100, names[i]);
		steps[2 * i + 2] = RETURN(110100 + i * 100 + (i == 599));
	}
	assert_int_equal(timeline_make(&account, steps, ARRAY_SIZE(steps), true), 0);
	assert_int_equal(account_finish(&account), 0);
	assert_int_equal(profile_make(&profile, &account), 0);
	assert_int_equal(profile.nr_nodes, PROFILE_NODES_MAX);
	assert_string_equal(profile.nodes[1].name, "caller");
	assert_string_equal(profile.nodes[PROFILE_NODES_MAX - 1].name, "called_599");
	for (uint32_t i = 1; i < profile.nr_nodes; i++)
		sum += profile.nodes[i].self_ns;
	assert_int_equal(sum, 100000);
}

static int parse(struct profile *profile, const char *text)
{
	json_object *json = json_tokener_parse(text);
	int r = profile_from_json(profile, json);

	json_object_put(json);
	return r;
}

#define ROWS ", \"senders\": [], \"senders_ns\": [], \"tasks\": [], \"tasks_ns\": [] }"
#define HEAD "{ \"version\": 1, \"window_ns\": 100, "

TEST(is_the_same_from_a_file)
{
	static const char text[] = "{\"version\":1,\"window_ns\":100,\"names\":[\"a\",\"[write]\"],"
				   "\"callers\":[0,1],\"self_ns\":[1,99],"
				   "\"senders\":[\"kick\"],\"senders_ns\":[5],\"tasks\":["
				   "\"stress\"],\"tasks_ns\":[100]}";
	_cleanup_(profile_release) struct profile profile = { 0 };
	json_object *json;

	assert_int_equal(parse(&profile, text), 0);
	json = profile_json(&profile);
	assert_string_equal(json_object_to_json_string_ext(json, JSON_C_TO_STRING_PLAIN), text);
	json_object_put(json);
}

TEST(rejects_what_no_profile_says)
{
	static const struct {
		const char *text;
		int r;
	} rows[] = {
		{ "7", -ENOENT },
		{ "{}", -ENOENT },
		{ "{ \"version\": 2 }", -ENOENT },
		{ "{ \"version\": 1 }", -EINVAL },
		{ "{ \"version\": 1, \"window_ns\": 281474976710657 }", -EINVAL },
		{ HEAD "\"names\": {}, \"callers\": [], \"self_ns\": []" ROWS, -EINVAL },
		{ HEAD "\"names\": [\"a\"], \"callers\": [], \"self_ns\": [1]" ROWS, -EINVAL },
		/* A node that comes later, or itself. */
		{ HEAD "\"names\": [\"a\"], \"callers\": [1], \"self_ns\": [1]" ROWS, -EINVAL },
		{ HEAD "\"names\": [\"a\"], \"callers\": [-1], \"self_ns\": [1]" ROWS, -EINVAL },
		{ HEAD "\"names\": [\"a\"], \"callers\": [0], \"self_ns\": [101]" ROWS, -EINVAL },
		{ HEAD "\"names\": [\"a\"], \"callers\": [0], \"self_ns\": [\"1\"]" ROWS, -EINVAL },
		{ HEAD "\"names\": [\"a<b\"], \"callers\": [0], \"self_ns\": [1]" ROWS, -EINVAL },
		{ HEAD "\"names\": [\"\\u001b[2J\"], \"callers\": [0], \"self_ns\": [1]" ROWS,
		  -EINVAL },
		{ HEAD "\"names\": [7], \"callers\": [0], \"self_ns\": [1]" ROWS, -EINVAL },
		{ HEAD "\"names\": [], \"callers\": [], \"self_ns\": [], \"senders\": [\"a\"], "
		       "\"senders_ns\": [], \"tasks\": [], \"tasks_ns\": []}",
		  -EINVAL },
		{ HEAD "\"names\": [], \"callers\": [], \"self_ns\": []" ROWS, 0 },
	};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		_cleanup_(profile_release) struct profile profile;

		if (parse(&profile, rows[i].text) != rows[i].r)
			fail_msg("%s", rows[i].text);
	}
}
