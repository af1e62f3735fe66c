// SPDX-License-Identifier: GPL-2.0-only
/* Threads that may run on the CPUs, and those that run RCU's callbacks for them. */
#include "isolation/isolation.h"

#include <ctype.h>
#include <inttypes.h>
#include <stdint.h>

#include "io.h"
#include "text.h"

#define NAMES_MAX 5
/* include/linux/sched.h */
#define PF_KTHREAD 0x00200000
#define PF_NO_SETAFFINITY 0x04000000

struct thread {
	char name[64];
	unsigned int flags;
	struct cpu_overlap allowed;
};

struct thread_group {
	size_t nr;
	char *names; /* of the first */
};

struct threads_seen {
	const struct isolation *isolation;
	struct thread_group users, pinned, kernel, rcu; /* who may run on the CPUs */
	uint64_t *offloaded; /* by judged CPU: its callbacks have a thread */
	bool has_kthreads;   /* else this is a container, or hidepid= hides them */
	size_t nr;
};

static void thread_group_add(struct thread_group *group, const char *name)
{
	if (group->nr++ < NAMES_MAX)
		text_list_append(&group->names, CLEAN_TO(63, name));
}

/* The name is in brackets, and may have some itself. */
static bool read_thread_stat(int dirfd, const char *tid, struct thread *thread)
{
	char path[64], text[1024], *begin, *end;

	snprintf(path, sizeof(path), "%.20s/stat", tid);
	if (read_text_at(dirfd, path, text, sizeof(text)))
		return false;
	begin = strchr(text, '(');
	end = strrchr(text, ')');
	if (!begin || !end || end < begin ||
	    sscanf(end + 1, " %*c %*d %*d %*d %*d %*d %u", &thread->flags) != 1)
		return false;
	snprintf(thread->name, sizeof(thread->name), "%.*s", (int)(end - begin - 1), begin + 1);
	return true;
}

static bool read_thread(const struct isolation *isolation, int dirfd, const char *tid,
			struct thread *thread)
{
	static const char key[] = "\nCpus_allowed_list:\t";
	char path[64], text[4096], *list;

	snprintf(path, sizeof(path), "%.20s/status", tid);
	if (!read_thread_stat(dirfd, tid, thread) ||
	    read_text_at(dirfd, path, text, sizeof(text)) || !(list = strstr(text, key)))
		return false;
	list += strlen(key);
	list[strcspn(list, "\n")] = '\0';
	return !cpu_overlap_parse(isolation, list, CPUS_LIST, &thread->allowed);
}

/* rcuop/N or, by the kind of RCU, rcuos/N runs the callbacks of CPU N; rcuog/N serves a group. */
static bool note_rcu_thread(struct threads_seen *seen, const struct thread *thread)
{
	const struct isolation *isolation = seen->isolation;
	const char *slash = strchr(thread->name, '/');

	if (!has_prefix(thread->name, "rcuo") || !slash)
		return false;
	for (size_t i = 0; i < isolation->nr_cpus; i++) {
		if (thread->name[4] != 'g' && atoi(slash + 1) == isolation->cpus[i])
			seen->offloaded[i] = 1;
	}
	if (thread->allowed.nr)
		thread_group_add(&seen->rcu, thread->name);
	return true;
}

static void note_thread(struct threads_seen *seen, const struct thread *thread)
{
	bool kernel = thread->flags & PF_KTHREAD;

	seen->nr++;
	seen->has_kthreads |= kernel;
	if ((kernel && note_rcu_thread(seen, thread)) || !thread->allowed.nr)
		return;
	/* Threads of interrupts follow these. Others that are bound belong to their CPU. */
	if (kernel && !has_prefix(thread->name, "irq/") && thread->allowed.has_others &&
	    !(thread->flags & PF_NO_SETAFFINITY))
		thread_group_add(&seen->kernel, thread->name);
	if (!kernel)
		thread_group_add(thread->allowed.has_others ? &seen->users : &seen->pinned,
				 thread->name);
}

static int see_threads(struct threads_seen *seen)
{
	_cleanup_closedir_ DIR *processes = NULL;
	struct dirent *process, *task;
	int err = opendir_at(&processes, seen->isolation->root_fd, "proc");

	while (!err && (process = readdir(processes))) {
		_cleanup_closedir_ DIR *tasks = NULL;
		char path[64];

		snprintf(path, sizeof(path), "%.20s/task", process->d_name);
		if (!isdigit((unsigned char)process->d_name[0]) ||
		    opendir_at(&tasks, dirfd(processes), path))
			continue;
		while ((task = readdir(tasks))) {
			struct thread thread;

			if (isdigit((unsigned char)task->d_name[0]) &&
			    read_thread(seen->isolation, dirfd(tasks), task->d_name, &thread))
				note_thread(seen, &thread);
		}
	}
	return err;
}

static void report_rcu(const struct threads_seen *seen)
{
	static const char name[] = "rcu_nocbs", file[] = "rcu_nocbs=";
	const struct isolation *isolation = seen->isolation;
	_cleanup_free_ char *remedy =
		strfmt("boot with rcu_nocbs=%s (nohz_full= includes it)", isolation->list);

	if (!seen->has_kthreads) {
		isolation_report(isolation, ISOLATION_UNKNOWN, name, file, NULL,
				 "no thread of the kernel can be seen: run it outside of "
				 "containers, as root");
		return;
	}
	for (size_t i = 0; i < isolation->nr_cpus; i++) {
		if (seen->offloaded[i])
			continue;
		isolation_report(isolation, ISOLATION_BAD, name, file, remedy,
				 "CPU %d runs RCU's callbacks itself: there is no thread "
				 "rcuop/%d or rcuos/%d",
				 isolation->cpus[i], isolation->cpus[i], isolation->cpus[i]);
		return;
	}
	if (seen->rcu.nr)
		isolation_report(isolation, ISOLATION_BAD, name, "/proc/PID/status",
				 "taskset -pc OTHER_CPUS PID for each of them, see pgrep rcuo",
				 "%zu threads of RCU's callbacks may run there: %s", seen->rcu.nr,
				 seen->rcu.names);
	else
		isolation_report(isolation, ISOLATION_FINE, name, file, NULL,
				 "other CPUs run RCU's callbacks");
}

static void report_users(const struct threads_seen *seen)
{
	static const char name[] = "tasks", file[] = "/proc/PID/status";
	const struct isolation *isolation = seen->isolation;
	struct cpu_overlap isolated;
	_cleanup_free_ char *pinned =
		seen->pinned.nr
			? strfmt("; %zu are pinned there: %s%s", seen->pinned.nr,
				 seen->pinned.names, seen->pinned.nr > NAMES_MAX ? " ..." : "")
			: NULL;

	if (seen->users.nr)
		isolation_report(isolation, ISOLATION_BAD, name, file,
				 "set the affinity of services: CPUAffinity= in "
				 "/etc/systemd/system.conf, or taskset -apc OTHER_CPUS PID",
				 "%zu threads of user space may run there: %s%s%s", seen->users.nr,
				 seen->users.names, seen->users.nr > NAMES_MAX ? " ..." : "",
				 pinned ? pinned : "");
	else if (!seen->has_kthreads)
		isolation_report(isolation, ISOLATION_UNKNOWN, name, file,
				 "run it outside of containers, as root",
				 "only %zu threads can be seen", seen->nr);
	else
		isolation_report(isolation, ISOLATION_FINE, name, file, NULL,
				 "no thread of user space may run there and elsewhere%s",
				 pinned ? pinned : "");
	/* Without load balancing, such as kswapd and kcompactd stay where they are. */
	if (seen->kernel.nr)
		isolation_report(isolation,
				 isolation_read_domains(isolation, &isolated) == 1 ? ISOLATION_NOTE
										   : ISOLATION_BAD,
				 "kthreads", file,
				 "boot with nohz_full=, or taskset -pc OTHER_CPUS PID",
				 "%zu threads of the kernel may run there and elsewhere: %s%s",
				 seen->kernel.nr, seen->kernel.names,
				 seen->kernel.nr > NAMES_MAX ? " ..." : "");
	else if (seen->has_kthreads)
		isolation_report(isolation, ISOLATION_FINE, "kthreads", file, NULL,
				 "only threads of the kernel that belong there may run there");
}

void isolation_judge_tasks(const struct isolation *isolation)
{
	struct threads_seen seen = { .isolation = isolation };
	int err;

	seen.offloaded = calloc(isolation->nr_cpus, sizeof(*seen.offloaded));
	err = seen.offloaded ? see_threads(&seen) : -ENOMEM;
	if (err) {
		isolation_report_unread(isolation, "tasks", "/proc", err);
	} else {
		report_rcu(&seen);
		report_users(&seen);
	}
	free(seen.offloaded);
	free(seen.users.names);
	free(seen.pinned.names);
	free(seen.kernel.names);
	free(seen.rcu.names);
}
