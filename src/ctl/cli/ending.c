// SPDX-License-Identifier: GPL-2.0-only
#include "cli/cli.h"

#include <stdbool.h>
#include <sys/signalfd.h>

#include "util.h"

static const int numbers[] = { SIGINT, SIGTERM, SIGHUP };

volatile sig_atomic_t ending_asked;

/* Shells start background jobs with SIGINT ignored. It still terminates us if it is sent
 * explicitly. */
static bool is_ignored(int number)
{
	struct sigaction action;

	return number == SIGHUP && !sigaction(number, NULL, &action) &&
	       action.sa_handler == SIG_IGN;
}

void ending_set(sigset_t *set)
{
	sigemptyset(set);
	for (size_t i = 0; i < ARRAY_SIZE(numbers); i++) {
		if (!is_ignored(numbers[i]))
			sigaddset(set, numbers[i]);
	}
}

int ending_open(void)
{
	sigset_t set;
	int fd;

	ending_set(&set);
	fd = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
	if (fd < 0 || sigprocmask(SIG_BLOCK, &set, NULL)) {
		closep(&fd);
		return -errno;
	}
	return fd;
}

void ending_drain(int fd)
{
	struct signalfd_siginfo info;

	while (fd >= 0 && read(fd, &info, sizeof(info)) > 0)
		;
}

static void on_signal(int number)
{
	ending_asked = 1;
}

void ending_catch(struct ending *ending)
{
	const struct sigaction catch = { .sa_handler = on_signal };

	for (size_t i = 0; i < ARRAY_SIZE(numbers); i++) {
		sigaction(numbers[i], NULL, &ending->old[i]);
		if (!is_ignored(numbers[i]))
			sigaction(numbers[i], &catch, NULL);
	}
}

void ending_release(const struct ending *ending)
{
	for (size_t i = 0; i < ARRAY_SIZE(numbers); i++)
		sigaction(numbers[i], &ending->old[i], NULL);
}
