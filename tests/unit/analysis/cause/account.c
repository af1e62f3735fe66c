// SPDX-License-Identifier: GPL-2.0-only
/* The account of a trace without times: positions are counts of instructions. */
#include <string.h>

#include "analysis/timeline.h"
#include "output/account_print.h"
#include "test.h"

/* 201000 instructions, of which only the last 20000 count. */
static int make(struct account *account, bool ends_at_spike)
{
	int r = TIMELINE(account, true, CALL(0, "early"), RETURN(180000), CALL(180000, "outer"),
			 CALL(182000, "leaf"), RETURN(183000), CALL(199000, "leaf"), RETURN(200000),
			 CALL(200500, "middle"), CALL(201000, "stop"));

	account->facts.no_times = true;
	account->facts.ends_at_spike = ends_at_spike;
	return r ?: account_finish(account);
}

static void print_end(FILE *file)
{
	_cleanup_(account_release) struct account account;

	assert_int_equal(make(&account, true), 0);
	account_print(file, &account, 2);
}

static void print_path(FILE *file, const struct account *account)
{
	json_object *object = account_json(account, 1);

	account_print(file, account, 1);
	fprintf(file, "%s\n", json_object_to_json_string(json_object_object_get(object, "path")));
	json_object_put(object);
}

/* The outermost function of the trace has not returned: the stack at the spike tells who called it,
 * unless it is another one. */
static void print_path_with_stack(FILE *file)
{
	static const struct spike_frame frames[] = {
		{ .name = "middle", .function = true },
		{ .name = "outer", .function = true },
		{ .name = "do_syscall_64", .function = true },
		{ .name = "libc.so.6+0x1234", .user = true },
	};
	_cleanup_(account_release) struct account account;

	assert_int_equal(make(&account, true), 0);
	account.facts.stack.nr = ARRAY_SIZE(frames);
	memcpy(account.facts.stack.frames, frames, sizeof(frames));
	print_path(file, &account);
	strcpy(account.facts.stack.frames[1].name, "other");
	print_path(file, &account);
}

/* A late thread has two stacks. */
static void print_who_had_the_cpu(FILE *file)
{
	for (int interrupted = 0; interrupted < 2; interrupted++) {
		_cleanup_(account_release) struct account account;
		struct spike_stack *holder = &account.facts.holder;

		assert_int_equal(make(&account, true), 0);
		account.facts.spike.kind = PERF_POKE_TRIGGER_THREAD;
		account.facts.recorder = PERF_POKE_RECORDER_NONE;
		holder->nr = 1;
		holder->interrupted = interrupted;
		holder->frames[0] = (struct spike_frame){ .name = "acme_hold", .function = true };
		account_print(file, &account, 1);
	}
}

static void print_long_path(FILE *file)
{
	_cleanup_(account_release) struct account account;
	struct step steps[31] = { TASK(0, "stress 7") };

	for (size_t i = 1; i < ARRAY_SIZE(steps); i++)
		steps[i] = CALL(i, "f");
	assert_int_equal(timeline_make(&account, steps, ARRAY_SIZE(steps), true), 0);
	assert_int_equal(account_finish(&account), 0);
	account_print(file, &account, 1);
}

static void print_what_the_cause_executed(FILE *file)
{
	_cleanup_(account_release) struct account account;
	struct span *spans;

	assert_int_equal(TIMELINE(&account, true, TASK(0, "stress 7"), CALL(0, "foo"),
				  CALL(110000, "acme_flush"), OFF(110000, "acme_flush"), ON(190000),
				  RETURN(190000)),
			 0);
	spans = account.spans->lanes[LANE_CODE].spans;
	spans[1].insns = 1000;
	spans[1].cycles = 800;
	assert_int_equal(account_finish(&account), 0);
	account_print(file, &account, 1);
}

/* The first line has at most 160 characters, and ends with a part of the sentence. */
static void print_long_sentences(FILE *file)
{
	static const char *const parts[] = {
		"req 8ms late: waited 7.9ms on a futex",
		"in pthread_mutex_lock() < request_with_a_long_name() < main()",
		"woken by holder 9 on CPU 0",
		"which waited for a disk itself, and so did everybody else on that CPU",
		"and so on",
	};

	for (int i = 0; i < 3; i++) {
		static const char *const separators[] = { ", ", "; ", " " };
		_cleanup_(account_release) struct account account;
		_cleanup_free_ char *text = NULL;

		assert_int_equal(make(&account, true), 0);
		free(account.sentence);
		account.sentence =
			WRITTEN(sentence, for (size_t j = 0; j < 5; j++) fprintf(
						  sentence, "%s%s", parts[j], separators[i]));
		text = WRITTEN(out, account_print(out, &account, 1));
		*strstr(text, "\n\n") = '\0';
		fprintf(file, "%s\n\n", text);
	}
}

static void print_when_it_ended(FILE *file)
{
	for (int poked = 0; poked < 2; poked++) {
		_cleanup_(account_release) struct account account;

		assert_int_equal(make(&account, false), 0);
		account.facts.spike.poked = poked;
		account_print(file, &account, 1);
	}
}

/* A line a member: json-c's pretty form differs between versions. */
static void print_json(FILE *file)
{
	_cleanup_(account_release) struct account account;
	json_object *object;

	assert_int_equal(make(&account, true), 0);
	object = account_json(&account, 1);
	json_object_object_foreach (object, key, value)
		fprintf(file, "%s: %s\n", key,
			json_object_to_json_string_ext(value, JSON_C_TO_STRING_PLAIN));
	json_object_put(object);
}

GOLDEN(PART(print_end), PART(print_long_sentences), PART(print_path_with_stack),
       PART(print_who_had_the_cpu), PART(print_long_path), PART(print_what_the_cause_executed),
       PART(print_when_it_ended), PART(print_json))
