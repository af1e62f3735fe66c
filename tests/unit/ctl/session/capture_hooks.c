// SPDX-License-Identifier: GPL-2.0-only
#include "session/session_internal.h"

#include <string.h>

#include "test.h"

static time_t ahead_s;

int __real_clock_gettime(clockid_t clock, struct timespec *now);
int __wrap_clock_gettime(clockid_t clock, struct timespec *now);

int __wrap_clock_gettime(clockid_t clock, struct timespec *now)
{
	int r = __real_clock_gettime(clock, now);

	now->tv_sec += ahead_s;
	return r;
}

/* With what it has started. */
static void run_for_a_minute(struct console *con)
{
	struct hook_job job = {
		.environment = calloc(1, sizeof(char *)),
		.input = strdup("{}\n"),
		.capture = strdup("a"),
	};
	struct hook_commands o;

	hook_commands_init(&o, "sleep 300 & sleep 301; true");
	assert_int_equal(hook_commands_add(&o, con, &job), 0);
	ahead_s = 58;
	hook_commands_handle(&o, con);
	assert_true(hook_commands_are_busy(&o));
	ahead_s = 61;
	/* It is not waited for. */
	for (int i = 0; i < 1000 && hook_commands_are_busy(&o); i++) {
		hook_commands_handle(&o, con);
		usleep(10000);
	}
	assert_false(hook_commands_are_busy(&o));
	assert_int_equal(o.failed, 1);
	assert_int_equal(hook_commands_release(&o), 0);
}

TEST(kills_after_a_minute)
{
	struct console con = { 0 };
	_cleanup_free_ char *text = WRITTEN(file, con.out = con.err = file; run_for_a_minute(&con));

	assert_non_null(strstr(text, "--on-capture: killed after 60 s for 'a'"));
}
