// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
/* The threads of the tracer timerlat: those of the kernel, whose scheduler and cgroup are set, and
 * processes in user space. */
#include "workload/workload.h"

#include <ctype.h>
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
#include "io.h"
#include "task.h"

/* -- Threads of the kernel */

#define CGROUPS "/sys/fs/cgroup"

/* The kernel creates the threads one after another. Each of timerlat's sets itself to SCHED_FIFO 95
 * when it first runs: wait for that. */
#define WAIT_TRIES 400
#define WAIT_US 5000
#define KERNEL_PRIORITY 95

static bool tracer_is_osnoise(const struct config *config)
{
	return config->workload == PERF_POKE_WORKLOAD_OSNOISE;
}

/* The CPU of a tracer's thread; -1: another thread. */
static int tracer_thread_cpu(int tid, const char *format)
{
	char path[64], comm[TASK_COMM_SIZE];
	int cpu, end = 0;

	if (task_read_comm(tid, comm))
		return -1;
	if (sscanf(comm, format, &cpu, &end) != 1 || comm[end])
		return -1;
	/* Any process can take the name, but only kernel threads have an empty command line. */
	snprintf(path, sizeof(path), "/proc/%d/cmdline", tid);
	return read_text_at(AT_FDCWD, path, comm, sizeof(comm)) || comm[0] ? -1 : cpu;
}

/* Stores a TID, or 0, for each CPU. Returns the number found. */
static size_t tracer_find_threads(const char *format, const int *cpus, size_t nr, int *tids)
{
	_cleanup_closedir_ DIR *proc = opendir("/proc");
	struct dirent *entry;
	size_t found = 0;

	memset(tids, 0, nr * sizeof(*tids));
	while (proc && (entry = readdir(proc))) {
		int tid = atoi(entry->d_name), cpu = tid ? tracer_thread_cpu(tid, format) : -1;

		for (size_t i = 0; i < nr && cpu >= 0; i++) {
			if (cpus[i] != cpu || tids[i])
				continue;
			tids[i] = tid;
			found++;
		}
	}
	return found;
}

static int tracer_wait_for_threads(const struct config *config, const int *cpus, size_t nr,
				   int *tids)
{
	const char *format = tracer_is_osnoise(config) ? "osnoise/%d%n" : "timerlat/%d%n";
	struct scheduling attr;

	for (int i = 0; i < WAIT_TRIES; i++) {
		size_t ready = 0;

		if (tracer_find_threads(format, cpus, nr, tids) == nr) {
			for (size_t t = 0; t < nr; t++) {
				attr = (struct scheduling){ 0 };
				ready += tracer_is_osnoise(config) ||
					 (!scheduling_get(tids[t], &attr) &&
					  attr.policy == SCHED_FIFO &&
					  attr.priority == KERNEL_PRIORITY);
			}
		}
		if (ready == nr)
			return 0;
		usleep(WAIT_US);
	}
	return -ETIMEDOUT;
}

/* Opens cgroup.procs of a cgroup: `name` is relative to the mount point; `.` is our own. Logs
 * errors. */
static int cgroup_open_procs(const char *name, const struct log *log)
{
	char path[PATH_MAX], own[4096], *folder = NULL;
	int err = 0, fd;

	if (!strcmp(name, ".")) {
		err = read_text_at(AT_FDCWD, "/proc/self/cgroup", own, sizeof(own));
		folder = err ? NULL : strstr(own, "0::/");
		if (!err && !folder)
			err = -ENOENT;
		if (folder) {
			folder += strlen("0::/");
			folder[strcspn(folder, "\n")] = '\0';
		}
	}
	if (!err && snprintf(path, sizeof(path), CGROUPS "/%s/cgroup.procs",
			     folder ? folder : name) >= (int)sizeof(path))
		err = -ENAMETOOLONG;
	fd = err ? -1 : open(path, O_WRONLY | O_CLOEXEC);
	if (fd >= 0)
		return fd;
	err = err ? err : -errno;
	return log_error(log, err,
			 "cgroup '%s': cannot join: %s (must be a folder of " CGROUPS
			 ", mounted as cgroup2)",
			 name, strerror(-err));
}

static int tracer_set_thread(int tid, int cpu, const struct scheduling *sched, int cgroup_fd,
			     const struct log *log)
{
	char text[64];
	int err;

	err = cgroup_fd >= 0 && dprintf(cgroup_fd, "%d", tid) < 0 ? -errno : 0;
	if (err == -EINVAL)
		return log_error(
			log, -EOPNOTSUPP,
			"cgroup: this kernel (as 6.1) does not let the tracer's thread of CPU %d "
			"be moved",
			cpu);
	if (err)
		return log_error(log, err, "cgroup: cannot move the tracer's thread of CPU %d: %s",
				 cpu, strerror(-err));
	err = sched ? scheduling_set(tid, sched) : 0;
	if (!err)
		return 0;
	scheduling_format(sched, text, sizeof(text));
	return log_error(log, err, "scheduler '%s' refused for the tracer's thread of CPU %d: %s%s",
			 text, cpu, strerror(-err), scheduling_advice(sched, err));
}

int timerlat_threads_set(const int *cpus, size_t nr, const struct config *config)
{
	const struct scheduling *sched = config->sched.size ? &config->sched : NULL;
	_cleanup_free_ int *tids = calloc(nr, sizeof(*tids));
	const struct log *log = &config->log;
	_cleanup_close_ int cgroup_fd = -1;
	int err;

	if (!sched && !config->opts.cgroup)
		return 0;
	if (!tids)
		return -ENOMEM;
	cgroup_fd = config->opts.cgroup ? cgroup_open_procs(config->opts.cgroup, log) : -1;
	if (config->opts.cgroup && cgroup_fd < 0)
		return cgroup_fd;
	err = tracer_wait_for_threads(config, cpus, nr, tids);
	if (err)
		return log_error(
			log, err,
			"the tracer's threads do not appear in /proc: cannot set their scheduler");
	for (size_t i = 0; i < nr && !err; i++)
		err = tracer_set_thread(tids[i], cpus[i], sched, cgroup_fd, log);
	return err;
}

/* -- Threads in user space */

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
		int pidfd;  /* -1: none */
		int socket; /* the thread reports its start here, and ends when this is closed */
	} threads[];	    /* one for each CPU */
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
static int user_thread_wait_for_timers(int fd)
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
static struct answer user_thread_settle(const struct user_threads *threads, int cpu, int cgroup)
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
static int user_thread_bind_to_parent(int own_end)
{
	struct pollfd parent = { .fd = own_end, .events = POLLIN };

	if (fcntl(own_end, F_SETOWN, getpid()) || fcntl(own_end, F_SETSIG, SIGKILL) ||
	    fcntl(own_end, F_SETFL, O_ASYNC))
		return -errno;
	return poll(&parent, 1, 0) ? -ESRCH : 0;
}

/* Passed from a parent to its new thread. */
struct birth {
	const struct user_threads *threads;
	int cpu, cgroup;
	int parent_end, own_end; /* of the socket of parent and thread */
};

/* In the forked process, locks of other threads stay locked: only system calls from here on. */
static int user_thread_run(void *arg)
{
	const struct birth *birth = arg;
	struct answer answer = { .what = "it is alone" };
	char name[32], file[64];
	int fd = -1;

	close(birth->parent_end);
	answer.err = user_thread_bind_to_parent(birth->own_end);
	if (!answer.err) {
		snprintf(name, sizeof(name), "pp-user/%d", birth->cpu);
		prctl(PR_SET_NAME, name);
		answer = user_thread_settle(birth->threads, birth->cpu, birth->cgroup);
	}
	if (!answer.err) {
		snprintf(file, sizeof(file), "osnoise/per_cpu/cpu%d/timerlat_fd", birth->cpu);
		fd = openat(birth->threads->tracefs, file, O_RDONLY);
		answer = (struct answer){ fd < 0 ? -errno : 0,
					  "timerlat_fd, which needs Linux 6.5" };
	}
	if (write(birth->own_end, &answer, sizeof(answer)) != sizeof(answer) || answer.err)
		_exit(1);
	close_all_but(fd, birth->own_end);
	_exit(user_thread_wait_for_timers(fd));
}

static void user_thread_end(struct user_thread *thread)
{
	int status;

	if (thread->pidfd >= 0) {
		pidfd_signal(thread->pidfd, SIGKILL);
		pidfd_wait_for_exit(thread->pidfd, &status, 0);
	}
	closep(&thread->pidfd);
	closep(&thread->socket);
}

static struct answer user_thread_create(struct user_threads *threads, size_t i, int cgroup)
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
	err = clone(user_thread_run, stack + sizeof(stack), CLONE_PIDFD, &birth, &thread->pidfd) < 0
		      ? -errno
		      : 0;
	thread->socket = ends[0];
	close(ends[1]);
	if (err)
		return (struct answer){ err, "no process" };
	if (read(thread->socket, &answer, sizeof(answer)) != sizeof(answer))
		return (struct answer){ -EIO, "it ended" };
	if (!answer.err && epoll_ctl(threads->epoll, EPOLL_CTL_ADD, thread->pidfd, &event))
		return (struct answer){ -errno, "cannot watch it" };
	return answer;
}

static int user_thread_start(struct user_threads *threads, size_t i)
{
	const struct config *config = threads->config;
	_cleanup_close_ int cgroup = -1;
	struct answer answer;

	user_thread_end(&threads->threads[i]);
	cgroup = config->opts.cgroup ? cgroup_open_procs(config->opts.cgroup, &threads->config->log)
				     : -1;
	if (config->opts.cgroup && cgroup < 0)
		return cgroup;
	answer = user_thread_create(threads, i, cgroup);
	if (!answer.err)
		return 0;
	user_thread_end(&threads->threads[i]);
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
		err = user_thread_start(threads, i);
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
			return user_thread_start(threads, i);
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

		if (thread->pidfd < 0 || !pidfd_wait_for_exit(thread->pidfd, &status, WNOHANG))
			continue;
		closep(&thread->pidfd);
		closep(&thread->socket);
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
		user_thread_end(&threads->threads[i]);
	closep(&threads->epoll);
	free(threads);
}
