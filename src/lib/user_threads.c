// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
#include "user_threads.h"

#include <sched.h>
#include <signal.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include "affinity.h"
#include "timerlat_threads.h"

/* The descriptor that a thread keeps. */
#define KEPT_FD 3

struct user_threads {
	int tracefs;
	struct user_threads_config config;
	struct log log;
	int epoll;
	struct user_thread {
		pid_t pid; /* 0: there is none */
		int pidfd;
	} threads[]; /* one for each CPU */
};

static void close_from(unsigned int first)
{
	syscall(SYS_close_range, first, ~0U, 0);
}

/* Each read() waits for the next timer; that the last ended, and its loop came round, is what the
 * kernel measures. */
static int wait_for_timers(int fd)
{
	char none[16];

	while (read(fd, none, sizeof(none)) >= 0)
		;
	return errno;
}

/* A forked process with what other threads had locked: only system calls from here on. */
static int thread_begin(const struct user_threads *threads, int cpu, pid_t parent, int *fd)
{
	char name[32], file[64];
	int err;

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (getppid() != parent)
		return -ESRCH;
	snprintf(name, sizeof(name), "pp-user/%d", cpu);
	prctl(PR_SET_NAME, name);
	err = affinity_set(&cpu, 1);
	if (!err)
		err = scheduling_set(0, &threads->config.sched);
	if (err)
		return err;
	snprintf(file, sizeof(file), "osnoise/per_cpu/cpu%d/timerlat_fd", cpu);
	*fd = openat(threads->tracefs, file, O_RDONLY);
	return *fd < 0 ? -errno : 0;
}

static void thread_run(const struct user_threads *threads, int cpu, pid_t parent, int told)
{
	int fd = -1, err = thread_begin(threads, cpu, parent, &fd);

	if (write(told, &err, sizeof(err)) != sizeof(err) || err)
		_exit(1);
	if (dup2(fd, KEPT_FD) < 0)
		_exit(1);
	close_from(KEPT_FD + 1);
	_exit(wait_for_timers(KEPT_FD));
}

static int thread_add_cgroup(const struct user_threads *threads, pid_t pid)
{
	_cleanup_close_ int fd = -1;

	if (!threads->config.cgroup)
		return 0;
	fd = cgroup_open(threads->config.cgroup, &threads->log);
	return fd < 0 ? fd : cgroup_add(fd, pid);
}

static void thread_end(struct user_threads *threads, size_t i)
{
	struct user_thread *thread = &threads->threads[i];

	if (thread->pid > 0) {
		kill(thread->pid, SIGKILL);
		waitpid(thread->pid, NULL, 0);
	}
	thread->pid = 0;
	closep(&thread->pidfd);
}

static int thread_watch(struct user_threads *threads, size_t i)
{
	struct epoll_event event = { .events = EPOLLIN };
	struct user_thread *thread = &threads->threads[i];

	thread->pidfd = syscall(SYS_pidfd_open, thread->pid, 0);
	if (thread->pidfd < 0 || epoll_ctl(threads->epoll, EPOLL_CTL_ADD, thread->pidfd, &event))
		return -errno;
	return 0;
}

static int thread_start(struct user_threads *threads, size_t i)
{
	int told[2], err = -EIO, cpu = threads->config.cpus[i];
	pid_t parent = getpid(), pid;

	thread_end(threads, i);
	if (pipe2(told, O_CLOEXEC))
		return -errno;
	pid = fork();
	if (!pid)
		thread_run(threads, cpu, parent, told[1]);
	threads->threads[i].pid = pid;
	close(told[1]);
	if (pid < 0)
		err = -errno;
	else if (read(told[0], &err, sizeof(err)) != sizeof(err))
		err = -EIO;
	close(told[0]);
	if (!err)
		err = thread_add_cgroup(threads, pid);
	if (!err)
		err = thread_watch(threads, i);
	if (!err)
		return 0;
	thread_end(threads, i);
	if (err == -ENOENT)
		err = -EOPNOTSUPP;
	return log_error(&threads->log, err, "workload user: no thread on CPU %d: %s%s", cpu,
			 strerror(-err),
			 err == -EOPNOTSUPP ? " (timerlat_fd: needs Linux 6.5)" : "");
}

int user_threads_start(struct user_threads **ret, int tracefs,
		       const struct user_threads_config *config, const struct log *log)
{
	struct user_threads *threads =
		calloc(1, sizeof(*threads) + config->nr_cpus * sizeof(threads->threads[0]));
	int err = 0;

	if (!threads)
		return -ENOMEM;
	threads->tracefs = tracefs;
	threads->config = *config;
	threads->log = *log;
	for (size_t i = 0; i < config->nr_cpus; i++)
		threads->threads[i].pidfd = -1;
	threads->epoll = epoll_create1(EPOLL_CLOEXEC);
	if (threads->epoll < 0)
		err = -errno;
	for (size_t i = 0; i < config->nr_cpus && !err; i++)
		err = thread_start(threads, i);
	if (err) {
		user_threads_stop(threads);
		return err;
	}
	*ret = threads;
	return 0;
}

int user_threads_cpu_online(struct user_threads *threads, int cpu)
{
	for (size_t i = 0; i < threads->config.nr_cpus; i++) {
		if (threads->config.cpus[i] == cpu)
			return thread_start(threads, i);
	}
	return 0;
}

int user_threads_fd(const struct user_threads *threads)
{
	return threads->epoll;
}

void user_threads_poll(struct user_threads *threads)
{
	for (size_t i = 0; i < threads->config.nr_cpus; i++) {
		struct user_thread *thread = &threads->threads[i];

		if (thread->pid <= 0 || waitpid(thread->pid, NULL, WNOHANG) <= 0)
			continue;
		thread->pid = 0;
		closep(&thread->pidfd);
		log_write(
			&threads->log, PERF_POKE_LOG_WARN,
			"the thread in user space on CPU %d was ended: nothing waits for its timer "
			"any more",
			threads->config.cpus[i]);
	}
}

void user_threads_stop(struct user_threads *threads)
{
	if (!threads)
		return;
	for (size_t i = 0; i < threads->config.nr_cpus; i++)
		thread_end(threads, i);
	closep(&threads->epoll);
	free(threads);
}
