// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
/* The clocks are this test's own: clock_gettime() and read() are replaced at link time. */
#include "base/clocks.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>
#include <sys/timerfd.h>
#include <time.h>

#include <cmocka.h>

#include "clock.h"

static uint64_t monotonic_ns, boottime_ns, realtime_ns;
static int read_errno;
static char said[512];

int __wrap_clock_gettime(clockid_t clock, struct timespec *ts);
ssize_t __wrap_read(int fd, void *buf, size_t size);

int __wrap_clock_gettime(clockid_t clock, struct timespec *ts)
{
	uint64_t ns = clock == CLOCK_MONOTONIC	? monotonic_ns
		      : clock == CLOCK_BOOTTIME ? boottime_ns
						: realtime_ns;

	ts->tv_sec = ns / NSEC_PER_SEC;
	ts->tv_nsec = ns % NSEC_PER_SEC;
	return 0;
}

ssize_t __wrap_read(int fd, void *buf, size_t size)
{
	assert_true(fd >= 0);
	assert_int_equal(size, 8);
	(void)buf;
	errno = read_errno;
	return -1;
}

static void note(void *ctx, enum perf_poke_log_level level, const char *msg)
{
	assert_ptr_equal(ctx, said);
	assert_int_equal(level, PERF_POKE_LOG_WARN);
	strncat(said, msg, sizeof(said) - strlen(said) - 1);
}

static void pass(uint64_t ns)
{
	monotonic_ns += ns;
	boottime_ns += ns;
	realtime_ns += ns;
}

static const char *reads(struct clocks *clocks)
{
	const struct log log = { .fn = note, .ctx = said };

	said[0] = '\0';
	clocks_read(clocks, &log);
	return said;
}

static int start(void **state)
{
	static struct clocks clocks;

	monotonic_ns = 5000 * NSEC_PER_SEC;
	boottime_ns = 7000 * NSEC_PER_SEC;
	realtime_ns = 1795000000 * NSEC_PER_SEC;
	read_errno = ECANCELED;
	clocks_open(&clocks);
	*state = &clocks;
	return clocks.fd < 0 ? -1 : 0;
}

static int stop(void **state)
{
	clocks_close(*state);
	return 0;
}

static void tells_of_a_suspend(void **state)
{
	pass(100 * NSEC_PER_SEC);
	boottime_ns += 90 * NSEC_PER_SEC;
	realtime_ns += 90 * NSEC_PER_SEC;
	assert_non_null(strstr(reads(*state), "suspended for 1m30s:"));
	assert_null(strstr(said, "was set"));
	/* Once. */
	pass(NSEC_PER_SEC);
	assert_string_equal(reads(*state), "");
}

static void tells_that_the_time_was_set(void **state)
{
	pass(NSEC_PER_SEC);
	realtime_ns += 3660 * NSEC_PER_SEC;
	assert_non_null(strstr(reads(*state), "the time was set 1h01m forward:"));
	assert_null(strstr(said, "suspended"));
	realtime_ns -= 2 * NSEC_PER_SEC;
	assert_non_null(strstr(reads(*state), "the time was set 2s back:"));
}

static void tells_of_both(void **state)
{
	boottime_ns += 63 * NSEC_PER_SEC;
	realtime_ns += 68 * NSEC_PER_SEC;
	assert_non_null(strstr(reads(*state), "suspended for 1m03s:"));
	assert_non_null(strstr(said, "set 5s forward:"));
}

static void says_nothing(void **state)
{
	pass(NSEC_PER_SEC);
	realtime_ns += 1000;
	assert_string_equal(reads(*state), "");
	/* Nobody was told of it. */
	read_errno = EAGAIN;
	realtime_ns += 3600 * NSEC_PER_SEC;
	assert_string_equal(reads(*state), "");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(tells_of_a_suspend, start, stop),
		cmocka_unit_test_setup_teardown(tells_that_the_time_was_set, start, stop),
		cmocka_unit_test_setup_teardown(tells_of_both, start, stop),
		cmocka_unit_test_setup_teardown(says_nothing, start, stop),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
