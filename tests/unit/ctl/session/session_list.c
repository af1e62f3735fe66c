// SPDX-License-Identifier: GPL-2.0-only
#include "session/session_internal.h"

#include <string.h>

#include "commands/commands.h"
#include "test.h"

static void add(struct session_list *list, const char *name, bool alive)
{
	const struct perf_poke_session session = {
		.sz = sizeof(session),
		.name = name,
		.alive = alive,
		.pid = 7,
		.last_sequence = 3,
		.output = "/a/b",
	};

	session_list_add(list, &session);
}

/* Checks the code and the line; returns the name. */
static const char *choose(const struct session_list *list, const char *name, enum exit_code code,
			  const char *line)
{
	const struct session_entry *chosen = NULL;
	_cleanup_free_ char *err = NULL;
	struct console con = { 0 };

	err = WRITTEN(file, con.err = file;
		      assert_int_equal(session_list_choose(list, &con, name, &chosen), code));
	assert_string_equal(err, line);
	return chosen ? chosen->name : NULL;
}

TEST(chooses)
{
	struct session_list list = { 0 };

	assert_null(choose(&list, NULL, EXIT_FAILED, "perf-poke-ctl: no session is alive\n"));
	add(&list, "dead", false);
	assert_null(choose(&list, NULL, EXIT_FAILED, "perf-poke-ctl: no session is alive\n"));
	add(&list, "one", true);
	assert_string_equal(choose(&list, NULL, EXIT_FINE, ""), "one");
	assert_string_equal(choose(&list, "dead", EXIT_FINE, ""), "dead");
	add(&list, "two", true);
	assert_null(
		choose(&list, NULL, EXIT_USAGE,
		       "perf-poke-ctl: SESSION is required: several are alive (use one, two)\n"));
	assert_string_equal(choose(&list, "two", EXIT_FINE, ""), "two");
	assert_null(choose(&list, "three", EXIT_FAILED,
			   "perf-poke-ctl: no session named 'three' (perf-poke-ctl status lists "
			   "sessions)\n"));
	session_list_release(&list);
	assert_int_equal(list.nr, 0);
}

TEST(explains_errors)
{
	static const int errors[] = { -EPERM, -EACCES, -EIO };
	_cleanup_free_ char *err = NULL;
	struct console con = { 0 };

	err = WRITTEN(file, con.err = file; for (size_t i = 0; i < ARRAY_SIZE(errors); i++)
			      session_list_print_error(&con, errors[i]));
	assert_string_equal(err, "perf-poke-ctl: cannot list sessions: needs root\n"
				 "perf-poke-ctl: cannot list sessions: needs root\n"
				 "perf-poke-ctl: cannot list sessions: Input/output error\n");
}

TEST(copies)
{
	struct session_list list = { 0 };
	char name[] = "abc";

	add(&list, name, true);
	name[0] = 'x';
	assert_string_equal(list.entries[0].name, "abc");
	assert_string_equal(list.entries[0].output, "/a/b");
	assert_int_equal(list.entries[0].last_sequence, 3);
	assert_int_equal(list.entries[0].pid, 7);
	assert_null(session_list_find(&list, "xbc"));
	assert_ptr_equal(session_list_find(&list, "abc"), &list.entries[0]);
	session_list_release(&list);
}

/* Usage errors are reported before sessions are looked up. */
TEST(refuses_options)
{
	static const struct {
		const struct command *command;
		char *words[4];
		const char *line;
	} cases[] = {
		{ &command_status, { "a", "b" }, "'b': unexpected argument" },
		{ &command_status, { "--all" }, "--all: no such option" },
		{ &command_stop, { "--all", "a" }, "--all excludes SESSION 'a'" },
		{ &command_stop, { "--timeout" }, "--timeout: TIME is missing" },
		{ &command_poke, { "--wait=1" }, "--wait '1': takes no value" },
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		char *argv[8] = { "perf-poke-ctl", (char *)cases[i].command->name };
		_cleanup_free_ char *err = NULL;
		struct console con = { .out = stdout };
		int argc = 2;

		for (; cases[i].words[argc - 2]; argc++)
			argv[argc] = cases[i].words[argc - 2];
		err = WRITTEN(file, con.err = file; assert_int_equal(
				      cases[i].command->run(&con, argc, argv), EXIT_USAGE));
		assert_non_null(strstr(err, cases[i].line));
		assert_ptr_equal(strchr(err, '\n'), err + strlen(err) - 1);
	}
}
