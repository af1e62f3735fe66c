// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
#include "workload/workload.h"

#include <ctype.h>
#include <sched.h>
#include <string.h>

#include "io.h"
#include "task.h"

#define CGROUPS "/sys/fs/cgroup"

/* The kernel creates the threads one after another. Each of timerlat's sets itself to SCHED_FIFO 95
 * when it first runs: wait for that. */
#define WAIT_TRIES 400
#define WAIT_US 5000
#define KERNEL_PRIORITY 95

static bool is_osnoise(const struct config *config)
{
	return config->opts.workload == PERF_POKE_WORKLOAD_OSNOISE;
}

/* The CPU of a tracer's thread; -1: another thread. */
static int thread_cpu(int tid, const char *format)
{
	char path[64], comm[TASK_COMM_SIZE];
	int cpu, end = 0;

	if (task_comm(tid, comm))
		return -1;
	if (sscanf(comm, format, &cpu, &end) != 1 || comm[end])
		return -1;
	/* Any process can take the name, but only kernel threads have an empty command line. */
	snprintf(path, sizeof(path), "/proc/%d/cmdline", tid);
	return read_text_at(AT_FDCWD, path, comm, sizeof(comm)) || comm[0] ? -1 : cpu;
}

/* Stores a TID, or 0, for each CPU. Returns the number found. */
static size_t find_threads(const char *format, const int *cpus, size_t nr, int *tids)
{
	_cleanup_closedir_ DIR *proc = opendir("/proc");
	struct dirent *entry;
	size_t found = 0;

	memset(tids, 0, nr * sizeof(*tids));
	while (proc && (entry = readdir(proc))) {
		int tid = atoi(entry->d_name), cpu = tid ? thread_cpu(tid, format) : -1;

		for (size_t i = 0; i < nr && cpu >= 0; i++) {
			if (cpus[i] != cpu || tids[i])
				continue;
			tids[i] = tid;
			found++;
		}
	}
	return found;
}

static bool is_ready(int tid)
{
	struct scheduling attr = { 0 };

	return !scheduling_get(tid, &attr) && attr.policy == SCHED_FIFO &&
	       attr.priority == KERNEL_PRIORITY;
}

static int wait_threads(const struct config *config, const int *cpus, size_t nr, int *tids)
{
	const char *format = is_osnoise(config) ? "osnoise/%d%n" : "timerlat/%d%n";

	for (int i = 0; i < WAIT_TRIES; i++) {
		size_t ready = 0;

		if (find_threads(format, cpus, nr, tids) == nr) {
			for (size_t t = 0; t < nr; t++)
				ready += is_osnoise(config) || is_ready(tids[t]);
		}
		if (ready == nr)
			return 0;
		usleep(WAIT_US);
	}
	return -ETIMEDOUT;
}

static int own_cgroup(char *path, size_t size)
{
	char text[4096];
	char *line;
	int err = read_text_at(AT_FDCWD, "/proc/self/cgroup", text, sizeof(text));

	if (err)
		return err;
	line = strstr(text, "0::/");
	if (!line)
		return -ENOENT;
	line += strlen("0::/");
	line[strcspn(line, "\n")] = '\0';
	return snprintf(path, size, CGROUPS "/%s/cgroup.procs", line) < (int)size ? 0
										  : -ENAMETOOLONG;
}

int cgroup_open(const char *name, const struct log *log)
{
	char path[PATH_MAX];
	int err = 0, fd;

	if (!strcmp(name, "."))
		err = own_cgroup(path, sizeof(path));
	else if (snprintf(path, sizeof(path), CGROUPS "/%s/cgroup.procs", name) >=
		 (int)sizeof(path))
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

static int set_thread(int tid, int cpu, const struct scheduling *sched, int cgroup_fd,
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
	cgroup_fd = config->opts.cgroup ? cgroup_open(config->opts.cgroup, log) : -1;
	if (config->opts.cgroup && cgroup_fd < 0)
		return cgroup_fd;
	err = wait_threads(config, cpus, nr, tids);
	if (err)
		return log_error(
			log, err,
			"the tracer's threads do not appear in /proc: cannot set their scheduler");
	for (size_t i = 0; i < nr && !err; i++)
		err = set_thread(tids[i], cpus[i], sched, cgroup_fd, log);
	return err;
}
