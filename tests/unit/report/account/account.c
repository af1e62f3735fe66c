// SPDX-License-Identifier: GPL-2.0-only
/* What is told of a trace without times, in which positions are counts of instructions. */
#include <string.h>

#include "report/timeline.h"
#include "test.h"

/* 201000 instructions; what comes before the last 20000 does not count. */
static int make(struct account *account, bool ends_at_spike)
{
	int r = TIMELINE(account, true, CALL(0, "early"), RETURN(180000), CALL(180000, "outer"),
			 CALL(182000, "leaf"), RETURN(183000), CALL(199000, "leaf"), RETURN(200000),
			 CALL(200500, "middle"), CALL(201000, "stop"));

	account->facts.no_times = true;
	account->facts.ends_at_spike = ends_at_spike;
	return r ?: account_finish(account);
}

static char *print(const struct account *account, size_t top)
{
	return WRITTEN(file, account_print(file, account, top));
}

TEST(prints_the_end)
{
	static const char end[] = "\n"
				  "where the trace ended, which is at the spike\n"
				  "  stop\n"
				  "  < middle\n"
				  "  < outer\n"
				  "\n"
				  "functions, by the last 20000 instructions               self  "
				  "share    total  share"
				  "   calls\n"
				  "  outer                                                17500  "
				  "87.5%    20000 100.0%"
				  "       1\n"
				  "  leaf                                                  2000  "
				  "10.0%     2000  10.0%"
				  "       2\n"
				  "  and 2 more\n";
	_cleanup_(account_release) struct account account;
	_cleanup_free_ char *text = NULL;

	assert_int_equal(make(&account, true), 0);
	text = print(&account, 2);
	assert_true(strlen(text) > strlen(end));
	assert_string_equal(text + strlen(text) - strlen(end), end);
	assert_null(strstr(text, "window"));
}

static void assert_path(const struct account *account, const char *expected)
{
	json_object *object = account_json(account, 1);

	assert_string_equal(json_object_to_json_string(json_object_object_get(object, "path")),
			    expected);
	json_object_put(object);
}

/* The outermost function of the trace has not returned: the stack at the spike tells who called it.
 */
TEST(completes_the_path_by_the_stack)
{
	static const struct spike_frame frames[] = {
		{ .name = "middle", .function = true },
		{ .name = "outer", .function = true },
		{ .name = "do_syscall_64", .function = true },
		{ .name = "libc.so.6+0x1234", .user = true },
	};
	static const char end[] = "  < middle\n"
				  "  < outer\n"
				  "  < do_syscall_64, called before the trace began\n"
				  "  < libc.so.6+0x1234, user, called before the trace began\n"
				  "\n";
	_cleanup_(account_release) struct account account;
	_cleanup_free_ char *text = NULL, *other = NULL;

	assert_int_equal(make(&account, true), 0);
	account.facts.stack.nr = ARRAY_SIZE(frames);
	memcpy(account.facts.stack.frames, frames, sizeof(frames));
	text = print(&account, 1);
	assert_non_null(strstr(text, end));
	assert_path(&account,
		    "[ \"stop\", \"middle\", \"outer\", \"do_syscall_64\", \"libc.so.6+0x1234\" ]");
	/* Another one: of whatever was there later. */
	strcpy(account.facts.stack.frames[1].name, "other");
	other = print(&account, 1);
	assert_null(strstr(other, "before the trace"));
	assert_path(&account, "[ \"stop\", \"middle\", \"outer\" ]");
}

/* Of a late thread there are two stacks. */
TEST(shows_who_had_the_cpu)
{
	static const char *const titles[] = {
		"\nwhat had the CPU when the thread was to run, where it gave it up\n  acme_hold\n",
		"\nwhat the timer's interrupt hit\n  acme_hold\n",
	};

	for (int interrupted = 0; interrupted < 2; interrupted++) {
		_cleanup_(account_release) struct account account;
		_cleanup_free_ char *text = NULL;
		struct spike_stack *holder = &account.facts.holder;

		assert_int_equal(make(&account, true), 0);
		account.facts.thread = account.facts.none = true;
		holder->nr = 1;
		holder->interrupted = interrupted;
		holder->frames[0] = (struct spike_frame){ .name = "acme_hold", .function = true };
		text = print(&account, 1);
		assert_non_null(strstr(text, titles[interrupted]));
	}
}

TEST(cuts_a_long_path)
{
	_cleanup_(account_release) struct account account;
	_cleanup_free_ char *text = NULL;
	struct step steps[31] = { TASK(0, "stress 7") };
	const char *end;
	size_t frames = 0;

	for (size_t i = 1; i < ARRAY_SIZE(steps); i++)
		steps[i] = CALL(i, "f");
	assert_int_equal(timeline_make(&account, steps, ARRAY_SIZE(steps), true), 0);
	assert_int_equal(account_finish(&account), 0);
	text = print(&account, 1);
	end = strstr(text, "\n  ... in stress 7\n");
	assert_non_null(end);
	for (const char *at = text; (at = strstr(at, "\n  < f\n")) && at < end; at++)
		frames++;
	assert_int_equal(frames, 23);
}

TEST(counts_what_the_cause_executed)
{
	_cleanup_(account_release) struct account account;
	_cleanup_free_ char *text = NULL;
	struct span *spans;

	assert_int_equal(TIMELINE(&account, true, TASK(0, "stress 7"), CALL(0, "foo"),
				  CALL(110000, "acme_flush"), OFF(110000, "acme_flush"), ON(190000),
				  RETURN(190000)),
			 0);
	spans = account.spans->lanes[LANE_CODE].spans;
	spans[1].insns = 1000;
	spans[1].cycles = 800;
	assert_int_equal(account_finish(&account), 0);
	text = print(&account, 1);
	assert_non_null(strstr(text,
			       "\n  cause        acme_flush executed 1000 instructions, 1.25 a "
			       "cycle\n"));
}

/* At spaces, behind at most 100 columns. */
TEST(wraps_the_sentence)
{
	static const char *const words[] = { "123456789", "123456789012345" };
	_cleanup_(account_release) struct account account;
	_cleanup_free_ char *text = NULL, *line = NULL;
	size_t lines = 0;
	FILE *file;

	assert_int_equal(make(&account, true), 0);
	free(account.sentence);
	account.sentence = WRITTEN(sentence, for (int i = 0; i < 30; i++)
						     fprintf(sentence, "%s ", words[i / 20]));
	text = print(&account, 1);
	file = fmemopen(text, strlen(text), "r");
	for (size_t room = 0; getline(&line, &room, file) > 0;) {
		size_t length = strcspn(line, "\n");

		if (!strstr(line, words[0]))
			continue;
		assert_in_range(length, lines == 3 ? 1 : 85, 100);
		assert_int_equal(strspn(line, " "), lines ? 4 : 0);
		assert_int_not_equal(line[length - 1], ' ');
		lines++;
	}
	fclose(file);
	assert_int_equal(lines, 4);
}

TEST(tells_when_it_ended)
{
	for (int poked = 0; poked < 2; poked++) {
		_cleanup_(account_release) struct account account;
		_cleanup_free_ char *text = NULL;

		assert_int_equal(make(&account, false), 0);
		account.facts.poked = poked;
		text = print(&account, 1);
		assert_non_null(
			strstr(text, poked ? "ended, which is some time after the request\n"
					   : "ended, which is some time after the spike\n"));
	}
}

static uint64_t number(json_object *object, const char *key)
{
	json_object *value = json_object_object_get(object, key);

	assert_true(json_object_is_type(value, json_type_int));
	return json_object_get_uint64(value);
}

TEST(is_json)
{
	static const char *const times[] = { "asked_ns", "begin_ns", "end_ns", "late_begin_ns",
					     "late_end_ns" };
	_cleanup_(account_release) struct account account;
	json_object *object, *window, *function, *value;

	assert_int_equal(make(&account, true), 0);
	object = account_json(&account, 1);
	window = json_object_object_get(object, "window");
	for (size_t i = 0; i < ARRAY_SIZE(times); i++) {
		assert_true(json_object_object_get_ex(window, times[i], &value));
		assert_null(value);
	}
	assert_int_equal(number(window, "instructions"), 20000);
	assert_true(json_object_object_get_ex(object, "budget", &value));
	assert_null(value);
	assert_string_equal(
		json_object_to_json_string_ext(json_object_object_get(object, "path"), 0),
		"[\"stop\",\"middle\",\"outer\"]");
	function = json_object_array_get_idx(json_object_object_get(object, "functions"), 0);
	assert_string_equal(json_object_get_string(json_object_object_get(function, "name")),
			    "outer");
	assert_int_equal(number(function, "self_instructions"), 17500);
	assert_int_equal(number(function, "total_instructions"), 20000);
	assert_int_equal(number(function, "calls"), 1);
	assert_false(json_object_object_get_ex(function, "self_ns", &value));
	json_object_put(object);
}
