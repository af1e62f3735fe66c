// SPDX-License-Identifier: GPL-2.0-only
#include "session/session_internal.h"

#include <signal.h>
#include <string.h>

#include "test.h"

struct ran {
	struct program program;
	int code;
};

static struct ran run_shell(const char *script, bool interrupted)
{
	char *argv[] = { (char *)"sh", (char *)"-c", (char *)script, NULL };
	struct ran ran = { 0 };
	int signals = signals_open_fd();

	assert_true(signals >= 0);
	assert_int_equal(program_create(&ran.program, argv), 0);
	assert_false(program_has_ended(&ran.program));
	assert_int_equal(program_start(&ran.program), 0);
	ran.code = program_finish(&ran.program, signals, interrupted);
	assert_int_equal(program_start_error(&ran.program), 0);
	program_release(&ran.program);
	close(signals);
	return ran;
}

TEST(returns_exit_code)
{
	assert_int_equal(run_shell("exit 0", false).code, 0);
	assert_int_equal(run_shell("exit 7", false).code, 7);
	assert_int_equal(run_shell("kill -9 $$", false).code, 128 + SIGKILL);
}

TEST(passes_the_end_on)
{
	assert_int_equal(run_shell("trap 'exit 5' TERM; while :; do sleep 0.01; done", true).code >=
				 5,
			 true);
	assert_int_equal(run_shell("exec sleep 60", true).code, 128 + SIGTERM);
}

/* The signals that the session blocks, and the one that it ignores. */
TEST(restores_signals)
{
	assert_int_equal(run_shell("kill -INT $$; exit 1", false).code, 128 + SIGINT);
	assert_int_equal(run_shell("kill -PIPE $$; exit 1", false).code, 128 + SIGPIPE);
}

TEST(starts_nothing_before_it_is_told)
{
	char *argv[] = { (char *)"sh", (char *)"-c", (char *)"exit 7", NULL };
	struct program program;

	assert_int_equal(program_create(&program, argv), 0);
	program_release(&program);
	assert_int_equal(program.pidfd, -1);
}

TEST(reports_what_cannot_run)
{
	char *argv[] = { (char *)"/nonexistent/program", NULL };
	struct program program;

	assert_int_equal(program_create(&program, argv), 0);
	assert_int_equal(program_start(&program), 0);
	program_finish(&program, -1, false);
	assert_int_equal(program_start_error(&program), -ENOENT);
	assert_int_equal(program_start_error(&program), -ENOENT);
	program_release(&program);
}

TEST(has_none)
{
	struct program program;

	assert_int_equal(program_create(&program, NULL), 0);
	assert_int_equal(program_start(&program), 0);
	assert_false(program_has_ended(&program));
	assert_int_equal(program_finish(&program, -1, true), 0);
	program_release(&program);
}
