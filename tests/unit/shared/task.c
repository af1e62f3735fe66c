// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
#include "task.h"
#include "test.h"

#include <errno.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

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
	child.pidfd = pidfd_open_process(pid);
	assert_true(child.pidfd >= 0);
	return child;
}

TEST(says_how_it_ended)
{
	struct child child = start_child(7);
	int status = -1;

	assert_int_equal(pidfd_wait_for_exit(child.pidfd, &status, WNOHANG), 0);
	assert_int_equal(status, -1);
	close(child.hold);
	assert_int_equal(pidfd_wait_for_exit(child.pidfd, &status, 0), 1);
	assert_true(WIFEXITED(status));
	assert_int_equal(WEXITSTATUS(status), 7);
	assert_int_equal(pidfd_wait_for_exit(child.pidfd, &status, 0), -ECHILD);
	close(child.pidfd);
}

TEST(says_what_signal_ended_it)
{
	static const int signals[] = { SIGKILL, SIGABRT };

	for (size_t i = 0; i < sizeof(signals) / sizeof(signals[0]); i++) {
		struct child child = start_child(0);
		int status;

		assert_int_equal(pidfd_signal(child.pidfd, signals[i]), 0);
		assert_int_equal(pidfd_wait_for_exit(child.pidfd, &status, 0), 1);
		assert_true(WIFSIGNALED(status));
		assert_int_equal(WTERMSIG(status), signals[i]);
		/* A process that reuses the PID gets no signal. */
		assert_int_equal(pidfd_signal(child.pidfd, SIGKILL), -ESRCH);
		close(child.hold);
		close(child.pidfd);
	}
}

TEST(is_not_for_nobody)
{
	assert_int_equal(pidfd_open_process(-1), -EINVAL);
	assert_int_equal(pidfd_signal(-1, SIGKILL), -EBADF);
	assert_int_equal(pidfd_wait_for_exit(STDERR_FILENO, &(int){ 0 }, 0), -EBADF);
}

static void take_signal(int signal)
{
}

TEST(waits_despite_signals)
{
	/* Without SA_RESTART. */
	const struct sigaction action = { .sa_handler = take_signal };
	struct sigaction old;
	int status;
	pid_t pid;

	assert_int_equal(sigaction(SIGUSR1, &action, &old), 0);
	pid = fork();
	assert_true(pid >= 0);
	if (!pid) {
		usleep(50000);
		kill(getppid(), SIGUSR1);
		usleep(50000);
		_exit(7);
	}
	assert_int_equal(pid_wait_for_exit(pid, &status), 0);
	assert_true(WIFEXITED(status));
	assert_int_equal(WEXITSTATUS(status), 7);
	assert_int_equal(pid_wait_for_exit(pid, NULL), -ECHILD);
	sigaction(SIGUSR1, &old, NULL);
}
