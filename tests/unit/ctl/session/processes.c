// SPDX-License-Identifier: GPL-2.0-only
#include "session/session_internal.h"

#include <signal.h>
#include <string.h>

#include "cli/cli.h"
#include "helpers.h"
#include "text.h"

/* The exit code of the caller's command after these actions of the child. */
static enum exit_code run_child(void (*child)(struct detach *detach, struct console *con),
				char *err, size_t size)
{
	_cleanup_fclose_ FILE *file = fmemopen(err, size, "w");
	_cleanup_fclose_ FILE *null = fopen("/dev/null", "w");
	struct console con = { .out = null, .err = file };
	struct detach detach = { 0 };
	enum exit_code code;
	int r;

	assert_non_null(file);
	assert_non_null(null);
	r = detach_fork_child(&detach, &con, &code);
	if (!r) {
		child(&detach, &con);
		_exit(99);
	}
	assert_int_equal(r, 1);
	return code;
}

static void end_unarmed(struct detach *detach, struct console *con)
{
	_exit(EXIT_USAGE);
}

static void die_unarmed(struct detach *detach, struct console *con)
{
	raise(SIGKILL);
}

static void be_armed(struct detach *detach, struct console *con)
{
	if (getsid(0) != getpid() || fcntl(detach->caller + 1, F_GETFD) != -1)
		_exit(98);
	if (write(detach->caller, "", 1) == 1)
		_exit(EXIT_FAILED); /* the caller has exited */
}

TEST(ends_as_child_does)
{
	char err[256] = "";

	assert_int_equal(run_child(end_unarmed, err, sizeof(err)), EXIT_USAGE);
	assert_string_equal(err, "");
	assert_int_equal(run_child(die_unarmed, err, sizeof(err)), EXIT_FAILED);
	assert_string_equal(err, "perf-poke-ctl: --detach: the session was killed by signal 9 "
				 "before it was armed\n");
}

TEST(ends_when_armed)
{
	char err[256] = "";

	assert_int_equal(run_child(be_armed, err, sizeof(err)), EXIT_FINE);
	assert_string_equal(err, "");
}

static bool json;

/* In the child, whose descriptors above 3 were closed. */
static void release(struct detach *detach, struct console *con)
{
	_cleanup_free_ char *out = strfmt("%s/out", folder->path);
	_cleanup_free_ char *err = strfmt("%s/err", folder->path);
	_cleanup_free_ char *log = strfmt("%s/log", folder->path);
	const struct perf_poke_opts opts = { .sz = sizeof(opts), .session = "noon" };

	con->out = fopen(out, "we");
	con->err = fopen(err, "we");
	detach->where = log;
	console_use_json(con, json);
	if (detach_release_caller(detach, con, &opts, -1))
		_exit(EXIT_FAILED);
	console_error(con, "later");
	_exit(con->detached ? EXIT_FINE : 98);
}

/* From then on messages go to the log; only JSON is a result. */
TEST_IN_FOLDER(says_where_it_is)
{
	char err[256] = "";

	for (int i = 0; i < 2; i++) {
		json = i;
		assert_int_equal(run_child(release, err, sizeof(err)), EXIT_FINE);
		if (!json) {
			assert_string_equal(load_text("out"), "");
			assert_non_null(strstr(load_text("err"), "session noon, pid "));
			continue;
		}
		assert_non_null(strstr(load_text("out"), "\"session\":\"noon\""));
		assert_string_equal(load_text("err"), "");
	}
	assert_null(strstr(load_text("err"), "later"));
	assert_true(exists("log"));
}
