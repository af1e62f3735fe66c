// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
#include "pidfd.h"

#include <errno.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

/* A child that ends once the other end of `hold` is closed, or by a signal. */
struct child {
	int pidfd, hold;
};

static struct child start_child(int code)
{
	struct child child;
	int hold[2];
	pid_t pid;
	char c;

	assert_int_equal(pipe(hold), 0);
	pid = fork();
	assert_true(pid >= 0);
	if (!pid) {
		close(hold[1]);
		_exit(read(hold[0], &c, 1) ? 99 : code);
	}
	close(hold[0]);
	child.hold = hold[1];
	child.pidfd = pidfd_of(pid);
	assert_true(child.pidfd >= 0);
	return child;
}

static void says_how_it_ended(void **state)
{
	struct child child = start_child(7);
	int status = -1;

	(void)state;
	assert_int_equal(pidfd_wait(child.pidfd, &status, WNOHANG), 0);
	assert_int_equal(status, -1);
	close(child.hold);
	assert_int_equal(pidfd_wait(child.pidfd, &status, 0), 1);
	assert_true(WIFEXITED(status));
	assert_int_equal(WEXITSTATUS(status), 7);
	assert_int_equal(pidfd_wait(child.pidfd, &status, 0), -ECHILD);
	close(child.pidfd);
}

static void says_what_signal_ended_it(void **state)
{
	static const int signals[] = { SIGKILL, SIGABRT };

	(void)state;
	for (size_t i = 0; i < sizeof(signals) / sizeof(signals[0]); i++) {
		struct child child = start_child(0);
		int status;

		assert_int_equal(pidfd_signal(child.pidfd, signals[i]), 0);
		assert_int_equal(pidfd_wait(child.pidfd, &status, 0), 1);
		assert_true(WIFSIGNALED(status));
		assert_int_equal(WTERMSIG(status), signals[i]);
		/* Whoever has its number now gets nothing. */
		assert_int_equal(pidfd_signal(child.pidfd, SIGKILL), -ESRCH);
		close(child.hold);
		close(child.pidfd);
	}
}

static void is_not_for_nobody(void **state)
{
	(void)state;
	assert_int_equal(pidfd_of(-1), -EINVAL);
	assert_int_equal(pidfd_signal(-1, SIGKILL), -EBADF);
	assert_int_equal(pidfd_wait(STDERR_FILENO, &(int){ 0 }, 0), -EBADF);
}

static void take_signal(int signal)
{
	(void)signal;
}

static void waits_despite_signals(void **state)
{
	/* Without SA_RESTART. */
	const struct sigaction action = { .sa_handler = take_signal };
	struct sigaction old;
	int status;
	pid_t pid;

	(void)state;
	assert_int_equal(sigaction(SIGUSR1, &action, &old), 0);
	pid = fork();
	assert_true(pid >= 0);
	if (!pid) {
		usleep(50000);
		kill(getppid(), SIGUSR1);
		usleep(50000);
		_exit(7);
	}
	assert_int_equal(pid_wait(pid, &status), 0);
	assert_true(WIFEXITED(status));
	assert_int_equal(WEXITSTATUS(status), 7);
	assert_int_equal(pid_wait(pid, NULL), -ECHILD);
	sigaction(SIGUSR1, &old, NULL);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(says_how_it_ended),
		cmocka_unit_test(says_what_signal_ended_it),
		cmocka_unit_test(is_not_for_nobody),
		cmocka_unit_test(waits_despite_signals),
	};

	return cmocka_run_group_tests_name("pidfd", tests, NULL, NULL);
}
