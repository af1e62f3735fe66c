// SPDX-License-Identifier: GPL-2.0-only
#include "cli/cli.h"

#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <string.h>
#include <sys/signalfd.h>

#include "util.h"

static const int numbers[] = { SIGINT, SIGTERM, SIGHUP };

volatile sig_atomic_t signals_asked_end;

/* Shells start background jobs with SIGINT ignored. It still terminates us if it is sent
 * explicitly. */
static bool signal_is_ignored(int number)
{
	struct sigaction action;

	return number == SIGHUP && !sigaction(number, NULL, &action) &&
	       action.sa_handler == SIG_IGN;
}

void signals_fill_set(sigset_t *set)
{
	sigemptyset(set);
	for (size_t i = 0; i < ARRAY_SIZE(numbers); i++) {
		if (!signal_is_ignored(numbers[i]))
			sigaddset(set, numbers[i]);
	}
}

int signals_open_fd(void)
{
	sigset_t set;
	int fd;

	signals_fill_set(&set);
	fd = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
	if (fd < 0 || sigprocmask(SIG_BLOCK, &set, NULL)) {
		closep(&fd);
		return -errno;
	}
	return fd;
}

bool signals_drain_fd(int fd)
{
	struct signalfd_siginfo info;
	bool typed = false;

	while (fd >= 0 && read(fd, &info, sizeof(info)) > 0)
		typed = info.ssi_code == SI_KERNEL;
	return typed;
}

static void signals_note_asked(int number)
{
	signals_asked_end = 1;
}

void signals_catch_ending(struct signals_old *saved)
{
	const struct sigaction catch = { .sa_handler = signals_note_asked };

	for (size_t i = 0; i < ARRAY_SIZE(numbers); i++) {
		sigaction(numbers[i], NULL, &saved->old[i]);
		if (!signal_is_ignored(numbers[i]))
			sigaction(numbers[i], &catch, NULL);
	}
}

void signals_restore_old(const struct signals_old *saved)
{
	for (size_t i = 0; i < ARRAY_SIZE(numbers); i++)
		sigaction(numbers[i], &saved->old[i], NULL);
}

/* What a command has left to do when its result is there takes less, if anybody reads its messages.
 */
#define GRACE_US 150000

static atomic_bool is_ended;

/* Posted once the thread runs. While it starts, it may hold what a child of fork() needs for
 * malloc(), as with AddressSanitizer. */
static sem_t has_started;

/* It is never kept waiting for long by the others, nor by a reader of standard error. */
static void *wait_for_ending_signal(void *said)
{
	struct pollfd err = { .fd = STDERR_FILENO, .events = POLLOUT };
	sigset_t set;
	int number;

	sem_post(&has_started);
	signals_fill_set(&set);
	while (sigwait(&set, &number))
		;
	if (!temporary_hold_all()) {
		usleep(GRACE_US);
		temporary_abandon_all();
		/* Who says what is not written has one result, and no other exit code. */
		_exit(*(const char *)said ? EXIT_FINE : EXIT_FAILED);
	}
	is_ended = true;
	temporary_abandon_all();
	if (poll(&err, 1, 0) > 0)
		dprintf(STDERR_FILENO, "%sperf-poke-ctl: interrupted%s\n",
			isatty(STDERR_FILENO) ? "\r\033[K" : "", (const char *)said);
	_exit(EXIT_FAILED);
}

int signals_end_process(const char *said)
{
	pthread_t thread;
	sigset_t set;
	int err;

	signals_fill_set(&set);
	err = pthread_sigmask(SIG_BLOCK, &set, NULL);
	if (err)
		return -err;
	sem_init(&has_started, 0, 0);
	err = pthread_create(&thread, NULL, wait_for_ending_signal, (void *)said);
	if (err)
		return -err;
	while (sem_wait(&has_started) && errno == EINTR)
		;
	return -pthread_detach(thread);
}

void signals_hold_if_ended(void)
{
	while (is_ended)
		pause();
}
