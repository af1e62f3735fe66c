// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
/* Processes that wait in a FIFO in place of timerlat_fd. */
#include "workload/workload.h"

#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "helpers.h"
#include "messages.h"

#define PATIENCE_MS 20000
#define MOMENT_MS 100

static struct messages messages;
static int cpu, fifo;
static struct config config = { .cpus = &cpu, .nr_cpus = 1, .log = { messages_add, &messages } };

/* clone() without SIGCHLD */
#define NEEDS_A_KERNEL SKIP_IN_USER_MODE("no children without a signal")

static int setup(void **state)
{
	char path[64];
	int err = make_folder(state);
	struct folder *folder = *state;

	if (err)
		return err;
	memset(&messages, 0, sizeof(messages));
	cpu = sched_getcpu();
	scheduling_get(0, &config.sched);
	snprintf(path, sizeof(path), "osnoise/per_cpu/cpu%d/beside", cpu);
	put_file(folder->fd, path, "");
	snprintf(path, sizeof(path), "osnoise/per_cpu/cpu%d/timerlat_fd", cpu);
	assert_int_equal(mkfifoat(folder->fd, path, 0600), 0);
	/* Makes readers wait in read(). */
	fifo = openat(folder->fd, path, O_RDWR | O_CLOEXEC);
	assert_true(fifo >= 0);
	return 0;
}

static int teardown(void **state)
{
	close(fifo);
	return remove_folder(state);
}

static struct user_threads *start(void **state)
{
	const struct folder *folder = *state;
	struct user_threads *threads;

	assert_int_equal(user_threads_start(&threads, folder->fd, &config), 0);
	return threads;
}

static bool has_ended(const struct user_threads *threads, int timeout_ms)
{
	struct pollfd pollfd = { .fd = user_threads_fd(threads), .events = POLLIN };

	return poll(&pollfd, 1, timeout_ms) == 1;
}

static void *start_in_thread(void *state)
{
	return start(state);
}

/* They end with the process, not with the thread that made them. */
TEST_WITH(outlives_its_thread, setup, teardown)
{
	struct user_threads *threads;
	pthread_t thread;

	NEEDS_A_KERNEL;
	assert_int_equal(pthread_create(&thread, NULL, start_in_thread, state), 0);
	assert_int_equal(pthread_join(thread, (void **)&threads), 0);
	assert_false(has_ended(threads, MOMENT_MS));
	user_threads_poll(threads);
	assert_int_equal(messages.nr, 0);
	user_threads_stop(threads);
}

static pid_t find_child(void)
{
	FILE *file = fopen("/proc/thread-self/children", "re");
	int pid;

	assert_non_null(file);
	assert_int_equal(fscanf(file, "%d", &pid), 1);
	fclose(file);
	return pid;
}

/* The program ignores SIGCHLD, or waits for all its children: it does not see ours, and we do not
 * lose ours. */
TEST_WITH(is_nobody_elses_child, setup, teardown)
{
	static const __sighandler_t handlers[] = { SIG_DFL, SIG_IGN };

	NEEDS_A_KERNEL;
	for (size_t i = 0; i < ARRAY_SIZE(handlers); i++) {
		__sighandler_t before = signal(SIGCHLD, handlers[i]);
		struct user_threads *threads = start(state);

		messages.nr = 0;
		kill(find_child(), SIGTERM);
		assert_true(has_ended(threads, PATIENCE_MS));
		assert_int_equal(waitpid(-1, NULL, WNOHANG), -1);
		assert_int_equal(errno, ECHILD);
		user_threads_poll(threads);
		user_threads_poll(threads);
		assert_int_equal(messages.nr, 1);
		assert_int_equal(messages.level, PERF_POKE_LOG_WARN);
		/* It begins again, as on a CPU that comes back. */
		assert_int_equal(user_threads_cpu_online(threads, cpu), 0);
		assert_false(has_ended(threads, MOMENT_MS));
		user_threads_stop(threads);
		assert_int_equal(waitpid(-1, NULL, WNOHANG | __WALL), -1);
		signal(SIGCHLD, before);
	}
}

/* However the child ends. */
TEST_WITH(ends_with_its_process, setup, teardown)
{
	int ready[2], status;
	pid_t parent;
	char c;

	NEEDS_A_KERNEL;
	assert_int_equal(pipe(ready), 0);
	assert_int_equal(prctl(PR_SET_CHILD_SUBREAPER, 1), 0);
	parent = fork();
	assert_true(parent >= 0);
	if (!parent) {
		start(state);
		if (write(ready[1], "", 1) == 1)
			pause();
		_exit(1);
	}
	assert_int_equal(read(ready[0], &c, 1), 1);
	kill(parent, SIGKILL);
	assert_int_equal(waitpid(parent, NULL, 0), parent);
	alarm(PATIENCE_MS / 1000);
	assert_true(waitpid(-1, &status, __WALL) > 0);
	alarm(0);
	assert_true(WIFSIGNALED(status));
	assert_int_equal(WTERMSIG(status), SIGKILL);
	close(ready[0]);
	close(ready[1]);
}

/* The only message names what is missing. */
TEST_WITH(says_what_is_missing, setup, teardown)
{
	struct user_threads *threads;
	char path[64], said[200];

	NEEDS_A_KERNEL;
	snprintf(path, sizeof(path), "osnoise/per_cpu/cpu%d/timerlat_fd", cpu);
	assert_int_equal(unlinkat(folder->fd, path, 0), 0);
	assert_int_equal(user_threads_start(&threads, folder->fd, &config), -EOPNOTSUPP);
	snprintf(said, sizeof(said),
		 "workload user: no thread on CPU %d: timerlat_fd, which needs Linux 6.5: "
		 "Operation not supported",
		 cpu);
	assert_string_equal(messages.text, said);
	assert_int_equal(waitpid(-1, NULL, WNOHANG | __WALL), -1);
}

TEST_WITH(has_a_name, setup, teardown)
{
	struct user_threads *threads;
	char path[64], name[32], expected[32];
	FILE *file;

	NEEDS_A_KERNEL;
	threads = start(state);
	snprintf(path, sizeof(path), "/proc/%d/comm", find_child());
	snprintf(expected, sizeof(expected), "pp-user/%d\n", cpu);
	file = fopen(path, "re");
	assert_non_null(file);
	assert_non_null(fgets(name, sizeof(name), file));
	assert_string_equal(name, expected);
	fclose(file);
	user_threads_stop(threads);
}
