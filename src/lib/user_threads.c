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

/* What a thread says once it is there, or cannot be: the text is of the program they share. */
struct answer {
	int err;
	const char *what;
};

/* The cgroup comes first: it may be the one that has the CPU. */
static struct answer thread_settle(const struct user_threads *threads, int cpu, int cgroup)
{
	int err;

	if (cgroup >= 0 && write(cgroup, "0", 1) != 1)
		return (struct answer){ -errno, "the cgroup does not take it" };
	err = affinity_set(&cpu, 1);
	if (err)
		return (struct answer){ err, err == -EINVAL ? "the CPU is not in its cpuset"
							    : "it cannot be put there" };
	err = scheduling_set(0, &threads->config.sched);
	return (struct answer){ err, "the scheduler is refused" };
}

/* A forked process with what other threads had locked: only system calls from here on. */
static struct answer thread_begin(const struct user_threads *threads, int cpu, int cgroup,
				  pid_t parent, int *fd)
{
	struct answer answer;
	char name[32], file[64];

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (getppid() != parent)
		return (struct answer){ -ESRCH, "it is alone" };
	snprintf(name, sizeof(name), "pp-user/%d", cpu);
	prctl(PR_SET_NAME, name);
	answer = thread_settle(threads, cpu, cgroup);
	if (answer.err)
		return answer;
	snprintf(file, sizeof(file), "osnoise/per_cpu/cpu%d/timerlat_fd", cpu);
	*fd = openat(threads->tracefs, file, O_RDONLY);
	return (struct answer){ *fd < 0 ? -errno : 0, "timerlat_fd, which needs Linux 6.5" };
}

static void thread_run(const struct user_threads *threads, int cpu, int cgroup, pid_t parent,
		       int told)
{
	int fd = -1;
	struct answer answer = thread_begin(threads, cpu, cgroup, parent, &fd);

	if (write(told, &answer, sizeof(answer)) != sizeof(answer) || answer.err)
		_exit(1);
	if (dup2(fd, KEPT_FD) < 0)
		_exit(1);
	close_from(KEPT_FD + 1);
	_exit(wait_for_timers(KEPT_FD));
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

static struct answer thread_fork(struct user_threads *threads, size_t i, int cgroup)
{
	struct answer answer = { -EIO, "it ended" };
	int told[2], cpu = threads->config.cpus[i];
	pid_t parent = getpid(), pid;

	if (pipe2(told, O_CLOEXEC))
		return (struct answer){ -errno, "no pipe" };
	pid = fork();
	if (!pid)
		thread_run(threads, cpu, cgroup, parent, told[1]);
	threads->threads[i].pid = pid;
	close(told[1]);
	if (pid < 0)
		answer = (struct answer){ -errno, "no process" };
	else if (read(told[0], &answer, sizeof(answer)) != sizeof(answer))
		answer.err = -EIO;
	close(told[0]);
	if (!answer.err)
		answer = (struct answer){ thread_watch(threads, i), "it cannot be watched" };
	return answer;
}

static int thread_start(struct user_threads *threads, size_t i)
{
	const struct user_threads_config *config = &threads->config;
	_cleanup_close_ int cgroup = -1;
	struct answer answer;

	thread_end(threads, i);
	cgroup = config->cgroup ? cgroup_open(config->cgroup, &threads->log) : -1;
	if (config->cgroup && cgroup < 0)
		return cgroup;
	answer = thread_fork(threads, i, cgroup);
	if (!answer.err)
		return 0;
	thread_end(threads, i);
	if (answer.err == -ENOENT)
		answer.err = -EOPNOTSUPP;
	return log_error(&threads->log, answer.err, "workload user: no thread on CPU %d: %s: %s%s",
			 config->cpus[i], answer.what, strerror(-answer.err),
			 scheduling_advice(&config->sched, answer.err));
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
