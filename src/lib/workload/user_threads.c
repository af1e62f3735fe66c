// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
#include "workload/workload.h"

#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdalign.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include "cpulist.h"
#include "task.h"

/* From <linux/sched.h>; in glibc since 2.32. */
#ifndef CLONE_PIDFD
#define CLONE_PIDFD 0x1000
#endif
#define STACK_SIZE 65536

struct user_threads {
	int tracefs;
	const struct config *config;
	struct scheduling sched;
	int epoll;
	struct user_thread {
		int pidfd; /* -1: none */
		int told;  /* the thread reports its start here, and ends when this is closed */
	} threads[];	   /* one for each CPU */
};

static void close_all_but(unsigned int a, unsigned int b)
{
	unsigned int low = a < b ? a : b, high = a < b ? b : a;

	/* Empty ranges are refused, which is fine. */
	syscall(SYS_close_range, STDERR_FILENO + 1, low - 1, 0);
	syscall(SYS_close_range, low + 1, high - 1, 0);
	syscall(SYS_close_range, high + 1, ~0U, 0);
}

/* Each read() waits for the next timer. The kernel measures the return to user space. */
static int wait_for_timers(int fd)
{
	char none[16];

	while (read(fd, none, sizeof(none)) >= 0)
		;
	return errno;
}

/* A thread's report of its start or failure. `what` is a string of the shared program. */
struct answer {
	int err;
	const char *what;
};

/* Cgroup first: the CPU may be in its cpuset only. */
static struct answer thread_settle(const struct user_threads *threads, int cpu, int cgroup)
{
	int err;

	if (cgroup >= 0 && write(cgroup, "0", 1) != 1)
		return (struct answer){ -errno, "the cgroup refuses it" };
	err = affinity_set(&cpu, 1);
	if (err)
		return (struct answer){ err, err == -EINVAL ? "the CPU is not in its cpuset"
							    : "cannot move it there" };
	err = scheduling_set(0, &threads->sched);
	return (struct answer){ err, "the scheduler is refused" };
}

/* Kills this process when its parent dies or closes the other end. PR_SET_PDEATHSIG would kill it
 * when the parent's thread ends. */
static int thread_bind(int tell)
{
	struct pollfd parent = { .fd = tell, .events = POLLIN };

	if (fcntl(tell, F_SETOWN, getpid()) || fcntl(tell, F_SETSIG, SIGKILL) ||
	    fcntl(tell, F_SETFL, O_ASYNC))
		return -errno;
	return poll(&parent, 1, 0) ? -ESRCH : 0;
}

/* Passed from a parent to its new thread. */
struct birth {
	const struct user_threads *threads;
	int cpu, cgroup;
	int told, tell; /* socket ends of the parent and of the thread */
};

/* In the forked process, locks of other threads stay locked: only system calls from here on. */
static struct answer thread_begin(const struct birth *birth, int *fd)
{
	struct answer answer;
	char name[32], file[64];
	int err;

	close(birth->told);
	err = thread_bind(birth->tell);
	if (err)
		return (struct answer){ err, "it is alone" };
	snprintf(name, sizeof(name), "pp-user/%d", birth->cpu);
	prctl(PR_SET_NAME, name);
	answer = thread_settle(birth->threads, birth->cpu, birth->cgroup);
	if (answer.err)
		return answer;
	snprintf(file, sizeof(file), "osnoise/per_cpu/cpu%d/timerlat_fd", birth->cpu);
	*fd = openat(birth->threads->tracefs, file, O_RDONLY);
	return (struct answer){ *fd < 0 ? -errno : 0, "timerlat_fd, which needs Linux 6.5" };
}

static int thread_run(void *arg)
{
	const struct birth *birth = arg;
	int fd = -1;
	struct answer answer = thread_begin(birth, &fd);

	if (write(birth->tell, &answer, sizeof(answer)) != sizeof(answer) || answer.err)
		_exit(1);
	close_all_but(fd, birth->tell);
	_exit(wait_for_timers(fd));
}

static void thread_end(struct user_thread *thread)
{
	int status;

	if (thread->pidfd >= 0) {
		pidfd_signal(thread->pidfd, SIGKILL);
		pidfd_wait(thread->pidfd, &status, 0);
	}
	closep(&thread->pidfd);
	closep(&thread->told);
}

static struct answer thread_make(struct user_threads *threads, size_t i, int cgroup)
{
	struct user_thread *thread = &threads->threads[i];
	struct epoll_event event = { .events = EPOLLIN };
	/* The child has its own copy. */
	alignas(16) char stack[STACK_SIZE];
	struct answer answer;
	struct birth birth;
	int ends[2], err;

	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends))
		return (struct answer){ -errno, "no socket" };
	birth = (struct birth){ threads, threads->config->cpus[i], cgroup, ends[0], ends[1] };
	/* Like fork() without SIGCHLD: the program that loaded this library may ignore it, or wait
	 * for all children in its handler. */
	err = clone(thread_run, stack + sizeof(stack), CLONE_PIDFD, &birth, &thread->pidfd) < 0
		      ? -errno
		      : 0;
	thread->told = ends[0];
	close(ends[1]);
	if (err)
		return (struct answer){ err, "no process" };
	if (read(thread->told, &answer, sizeof(answer)) != sizeof(answer))
		return (struct answer){ -EIO, "it ended" };
	if (!answer.err && epoll_ctl(threads->epoll, EPOLL_CTL_ADD, thread->pidfd, &event))
		return (struct answer){ -errno, "cannot watch it" };
	return answer;
}

static int thread_start(struct user_threads *threads, size_t i)
{
	const struct config *config = threads->config;
	_cleanup_close_ int cgroup = -1;
	struct answer answer;

	thread_end(&threads->threads[i]);
	cgroup = config->opts.cgroup ? cgroup_open(config->opts.cgroup, &threads->config->log) : -1;
	if (config->opts.cgroup && cgroup < 0)
		return cgroup;
	answer = thread_make(threads, i, cgroup);
	if (!answer.err)
		return 0;
	thread_end(&threads->threads[i]);
	if (answer.err == -ENOENT)
		answer.err = -EOPNOTSUPP;
	return log_error(&threads->config->log, answer.err,
			 "workload user: no thread on CPU %d: %s: %s%s", config->cpus[i],
			 answer.what, strerror(-answer.err),
			 scheduling_advice(&threads->sched, answer.err));
}

int user_threads_start(struct user_threads **ret, int tracefs, const struct config *config)
{
	struct user_threads *threads =
		calloc(1, sizeof(*threads) + config->nr_cpus * sizeof(threads->threads[0]));
	int err = 0;

	if (!threads)
		return -ENOMEM;
	threads->tracefs = tracefs;
	threads->config = config;
	threads->sched = config->sched;
	if (!config->sched.size)
		threads->sched = (struct scheduling){ .size = sizeof(threads->sched),
						      .policy = SCHED_FIFO,
						      .priority = config->opts.priority };
	for (size_t i = 0; i < config->nr_cpus; i++)
		threads->threads[i] = (struct user_thread){ -1, -1 };
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
	for (size_t i = 0; i < threads->config->nr_cpus; i++) {
		if (threads->config->cpus[i] == cpu)
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
	for (size_t i = 0; i < threads->config->nr_cpus; i++) {
		struct user_thread *thread = &threads->threads[i];
		int status;

		if (thread->pidfd < 0 || !pidfd_wait(thread->pidfd, &status, WNOHANG))
			continue;
		closep(&thread->pidfd);
		closep(&thread->told);
		log_write(&threads->config->log, PERF_POKE_LOG_WARN,
			  "workload user: the thread on CPU %d was killed: its timer is no longer "
			  "armed",
			  threads->config->cpus[i]);
	}
}

void user_threads_stop(struct user_threads *threads)
{
	if (!threads)
		return;
	for (size_t i = 0; i < threads->config->nr_cpus; i++)
		thread_end(&threads->threads[i]);
	closep(&threads->epoll);
	free(threads);
}
