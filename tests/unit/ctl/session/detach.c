// SPDX-License-Identifier: GPL-2.0-only
#include "session/detach.h"

#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

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
	(void)detach;
	(void)con;
	_exit(EXIT_USAGE);
}

static void die_unarmed(struct detach *detach, struct console *con)
{
	(void)detach;
	(void)con;
	raise(SIGKILL);
}

static void be_armed(struct detach *detach, struct console *con)
{
	(void)con;
	if (getsid(0) != getpid() || fcntl(detach->caller + 1, F_GETFD) != -1)
		_exit(98);
	if (write(detach->caller, "", 1) == 1)
		_exit(EXIT_FAILED); /* nobody looks any more */
}

static void ends_as_child_does(void **state)
{
	char err[256] = "";

	(void)state;
	assert_int_equal(run_child(end_unarmed, err, sizeof(err)), EXIT_USAGE);
	assert_string_equal(err, "");
	assert_int_equal(run_child(die_unarmed, err, sizeof(err)), EXIT_FAILED);
	assert_string_equal(err, "perf-poke-ctl: --detach: the session was killed by signal 9 "
				 "before it was armed\n");
}

static void ends_when_armed(void **state)
{
	char err[256] = "";

	(void)state;
	assert_int_equal(run_child(be_armed, err, sizeof(err)), EXIT_FINE);
	assert_string_equal(err, "");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(ends_as_child_does),
		cmocka_unit_test(ends_when_armed),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
