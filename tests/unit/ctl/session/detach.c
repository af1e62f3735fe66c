// SPDX-License-Identifier: GPL-2.0-only
#include "session/detach.h"
#include "test.h"

#include <signal.h>
#include <string.h>

/* What the caller's command ends with when the child does this. */
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
	r = detach_fork(&detach, &con, &code);
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
		_exit(EXIT_FAILED); /* nobody looks any more */
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
