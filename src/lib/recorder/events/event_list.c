// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
#include "recorder/events/events.h"

#include <fcntl.h>
#include <fnmatch.h>
#include <inttypes.h>
#include <string.h>

#include "arch.h"
#include "array.h"
#include "cpulist.h"
#include "io.h"
#include "machine/base.h"
#include "recorder/recorder.h"
#include "text.h"

/* Events that delay a timer interrupt: task switches, interrupts, softirqs, timers. Each that is
 * switched on or off interrupts all CPUs of the machine several times, to patch code: none is here
 * that neither a sentence nor a span needs. */
static const struct {
	const char *name, *filter;
	bool of_hrtick; /* the filter is for kernels with hrtick */
	bool of_ipi;	/* for architectures where it says which interrupt came from another CPU */
} default_events[] = {
	{ "sched:sched_switch" },
	{ "sched:sched_wakeup" },
	{ "irq:irq_handler_entry" },
	{ "irq:irq_handler_exit" },
	{ "irq:softirq_entry" },
	{ "irq:softirq_exit" },
	{ "irq:tasklet_entry" },
	{ "irq:tasklet_exit" },
	{ "irq_vectors:*_entry" },
	{ "irq_vectors:*_exit" },
	{ "ipi:ipi_entry", .of_ipi = true },
	{ "ipi:ipi_exit", .of_ipi = true },
	/* Since Linux 7.1, each switch between tasks that compete arms hrtick, the scheduler's
	 * tick, and the clock device is set with each timer interrupt. */
	{ "timer:hrtimer_start", "function.function != hrtick", true },
	{ "timer:hrtimer_start_expired" },
	{ "timer:hrtimer_rearm", "deferred == 1" },
	{ "timer:hrtimer_expire_entry", "function.function != hrtick", true },
	{ "timer:hrtimer_expire_exit" },
	{ "timer:timer_expire_entry" },
	{ "timer:timer_expire_exit" },
	/* Function calls requested by other CPUs, by interrupt or not. */
	{ "csd:csd_function_*" },
	/* The idle states of the CPU. */
	{ "power:cpu_idle" },
	{ "sched:sched_wakeup_new" },
	{ "workqueue:workqueue_execute_start" },
	{ "workqueue:workqueue_execute_end" },
};

void event_list_close(struct event_list *list)
{
	for (size_t i = 0; i < list->nr; i++) {
		free(list->events[i].name);
		free(list->events[i].filter);
	}
	free(list->events);
	*list = (struct event_list){};
}

static int tracepoint_read_id(int tracefs_fd, const char *system, const char *name, uint64_t *id)
{
	_cleanup_close_ int fd = -1;
	char path[300], text[32];
	ssize_t len;

	if ((size_t)snprintf(path, sizeof(path), "events/%s/%s/id", system, name) >= sizeof(path))
		return -ENAMETOOLONG;
	fd = openat(tracefs_fd, path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return -errno;
	len = read(fd, text, sizeof(text) - 1);
	if (len <= 0)
		return len ? -errno : -EIO;
	text[len] = '\0';
	*id = strtoull(text, NULL, 10);
	return 0;
}

/* Takes ownership of the strings. */
int event_list_append(struct event_list *list, struct event event)
{
	if (array_grow(&list->events, list->nr, sizeof(event))) {
		free(event.name);
		free(event.filter);
		return -ENOMEM;
	}
	list->events[list->nr++] = event;
	return 0;
}

/* A repeated event replaces the filter only. */
static int event_list_add_tracepoint(struct event_list *list, int tracefs_fd, const char *system,
				     const char *name, const char *filter, bool optional)
{
	_cleanup_free_ char *full = strfmt("%s:%s", system, name), *copy = NULL;
	uint64_t id = 0;
	int err;

	err = tracepoint_read_id(tracefs_fd, system, name, &id);
	if (err)
		return err;
	if (!full || (filter && !(copy = strdup(filter))))
		return -ENOMEM;
	for (size_t i = 0; i < list->nr; i++) {
		if (list->events[i].id != id)
			continue;
		free(list->events[i].filter);
		list->events[i].filter = TAKE_PTR(copy);
		list->events[i].optional &= optional;
		return 0;
	}
	return event_list_append(list, (struct event){ .name = TAKE_PTR(full),
						       .filter = TAKE_PTR(copy),
						       .optional = optional,
						       .id = id });
}

static int event_list_add_matching(struct event_list *list, int tracefs_fd, const char *system,
				   const char *pattern, const char *filter)
{
	_cleanup_closedir_ DIR *dir = NULL;
	unsigned int matches = 0;
	struct dirent *entry;
	char path[300];
	int err;

	if ((size_t)snprintf(path, sizeof(path), "events/%s", system) >= sizeof(path))
		return -ENAMETOOLONG;
	err = opendir_at(&dir, tracefs_fd, path);
	if (err)
		return err;
	while ((entry = readdir(dir))) {
		if (entry->d_type != DT_DIR || entry->d_name[0] == '.' ||
		    fnmatch(pattern, entry->d_name, 0))
			continue;
		err = event_list_add_tracepoint(list, tracefs_fd, system, entry->d_name, filter,
						true);
		/* Some events, such as those of the ftrace system, have no id: perf cannot open
		 * them. */
		if (err == -ENOENT)
			continue;
		if (err)
			return err;
		matches++;
	}
	return matches ? 0 : -ENOENT;
}

static int event_list_add_spec(struct event_list *list, int tracefs_fd,
			       const struct perf_poke_event *asked)
{
	_cleanup_free_ char *system = strdup(asked->name);
	char *name;

	if (!system)
		return -ENOMEM;
	name = strchr(system, ':');
	/* Rejects names that lead out of the events folder. */
	if (!name || name == system || !name[1] || strchr(system, '/') || system[0] == '.' ||
	    name[1] == '.')
		return -EINVAL;
	*name++ = '\0';
	if (strpbrk(name, "*?["))
		return event_list_add_matching(list, tracefs_fd, system, name, asked->filter);
	return event_list_add_tracepoint(list, tracefs_fd, system, name, asked->filter, false);
}

/* Interrupts that most machines never have, and their lines of /proc/interrupts. */
static const struct {
	const char *vector, *line;
} rare_vectors[] = {
	{ "irq_vectors:deferred_error_apic_", "DFR:" }, { "irq_vectors:error_apic_", "ERR:" },
	{ "irq_vectors:spurious_apic_", "SPU:" },	{ "irq_vectors:thermal_apic_", "TRM:" },
	{ "irq_vectors:threshold_apic_", "THR:" },	{ "irq_vectors:x86_platform_ipi_", "PLT:" },
};

/* Bits of rare_vectors: those of which this machine has had some. All if that is not known. */
static unsigned int vectors_in_use(int root_fd)
{
	_cleanup_close_ int fd = openat(root_fd, "proc/interrupts", O_RDONLY | O_CLOEXEC);
	_cleanup_fclose_ FILE *file = fd < 0 ? NULL : fdopen(fd, "r");
	_cleanup_free_ char *line = NULL;
	unsigned int used = 0;
	size_t size = 0;

	if (!file)
		return ~0U;
	TAKE_FD(fd);
	while (getline(&line, &size, file) > 0) {
		const char *name = line + strspn(line, " ");

		for (size_t i = 0; i < ARRAY_SIZE(rare_vectors); i++) {
			/* A number for each CPU follows. */
			if (has_prefix(name, rare_vectors[i].line) && strpbrk(name, "123456789"))
				used |= 1U << i;
		}
	}
	return used;
}

static bool is_vector_of(const struct event *event, unsigned int vectors)
{
	for (size_t i = 0; i < ARRAY_SIZE(rare_vectors); i++) {
		if (has_prefix(event->name, rare_vectors[i].vector))
			return vectors & 1U << i;
	}
	return true;
}

static void event_list_drop_unused(struct event_list *list, int root_fd)
{
	unsigned int used = vectors_in_use(root_fd);
	size_t nr = 0;

	for (size_t i = 0; i < list->nr; i++) {
		if (is_vector_of(&list->events[i], used)) {
			list->events[nr++] = list->events[i];
			continue;
		}
		free(list->events[i].name);
		free(list->events[i].filter);
	}
	list->nr = nr;
}

static int event_list_add_default(struct event_list *list, int tracefs_fd, int root_fd,
				  const struct log *log)
{
	bool has_hrtick = !faccessat(tracefs_fd, "events/timer/hrtimer_rearm", F_OK, 0) &&
			  kallsyms_has("hrtick");

	for (size_t i = 0; i < ARRAY_SIZE(default_events); i++) {
		const struct perf_poke_event asked = {
			.name = default_events[i].name,
			.filter = has_hrtick || !default_events[i].of_hrtick
					  ? default_events[i].filter
					  : NULL,
		};
		int err;

		if (default_events[i].of_ipi && !arch_here()->has_ipi_events)
			continue;
		err = event_list_add_spec(list, tracefs_fd, &asked);
		if (err == -ENOENT)
			log_write(log, PERF_POKE_LOG_DEBUG, "event %s: this kernel has none",
				  asked.name);
		else if (err)
			return log_error(log, err, "event %s: %s", asked.name,
					 tracefs_strerror(err));
	}
	for (size_t i = 0; i < list->nr; i++)
		list->events[i].optional = true;
	event_list_drop_unused(list, root_fd);
	if (!list->nr)
		return log_error(log, -ENOENT,
				 "this kernel has none of the default events: name some (-e)");
	return 0;
}

/* Each sample of osnoise, and the noises before it. */
int event_list_add_osnoise(struct event_list *list, int tracefs_fd)
{
	static const struct perf_poke_event asked[] = { { .name = "osnoise:*_noise" },
							{ .name = "osnoise:sample_threshold" } };
	int err = 0;

	for (size_t i = 0; i < ARRAY_SIZE(asked) && !err; i++)
		err = event_list_add_spec(list, tracefs_fd, &asked[i]);
	return err;
}

/* By isolcpus= or nohz_full=, or by a partition of cpuset. */
static bool any_is_isolated(int root_fd, const int *cpus, size_t nr_cpus)
{
	static const char *const lists[] = { "isolated", "nohz_full" };
	bool found = false;

	for (size_t i = 0; i < ARRAY_SIZE(lists) && !found; i++) {
		_cleanup_free_ int *isolated = NULL;
		char path[64], text[4096];
		size_t nr = 0;

		snprintf(path, sizeof(path), "sys/devices/system/cpu/%s", lists[i]);
		if (read_text_at(root_fd, path, text, sizeof(text)) ||
		    cpulist_parse(text, &isolated, &nr))
			continue;
		for (size_t j = 0; j < nr_cpus; j++)
			found |= cpulist_missing(&cpus[j], 1, isolated, nr) < 0;
	}
	return found;
}

int event_list_add_samples(struct event_list *list, int root_fd, const int *cpus, size_t nr_cpus,
			   const struct log *log)
{
	struct event event = { .optional = true };

	for (size_t i = 0; i < list->nr; i++) {
		if (!list->events[i].id)
			return 0;
	}
	if (any_is_isolated(root_fd, cpus, nr_cpus) || !pmu_event_default(&event.sampled, root_fd))
		return 0;
	event.name = strdup(PMU_EVENT_DEFAULT);
	if (!event.name)
		return -ENOMEM;
	log_write(log, PERF_POKE_LOG_INFO,
		  "an NMI samples the watched CPUs each %" PRIu64 " cycles (--no-samples: none)",
		  (uint64_t)event.sampled.sample_period);
	return event_list_append(list, event);
}

unsigned int event_list_senders(const struct event_list *list)
{
	static const char *const systems[] = { "csd:", "ipi:", "irq_vectors:", "workqueue:" };
	bool wakeups = false, wakers = false, migrations = false;
	unsigned int what = 0;

	for (size_t i = 0; i < list->nr; i++) {
		wakeups |= !strcmp(list->events[i].name, "sched:sched_wakeup");
		wakers |= !strcmp(list->events[i].name, "sched:sched_waking");
		migrations |= !strcmp(list->events[i].name, "sched:sched_migrate_task");
		for (size_t j = 0; j < ARRAY_SIZE(systems); j++) {
			if (!strncmp(list->events[i].name, systems[j], strlen(systems[j])))
				what |= SENDERS_REQUESTS;
		}
	}
	what |= wakeups && !wakers ? SENDERS_WAKERS : 0;
	return wakeups && !migrations ? what | SENDERS_MIGRATIONS : what;
}

static int event_list_add_tracepoints(struct event_list *list, int tracefs_fd,
				      const struct perf_poke_event *asked, const struct log *log)
{
	int err = event_list_add_spec(list, tracefs_fd, asked);

	if (err == -EINVAL)
		log_error(log, err,
			  "event '%s': neither of the form system:name, as in sched:sched_switch, "
			  "nor "
			  "one that is sampled, as cpu-clock",
			  asked->name);
	else if (err == -ENOENT)
		log_error(log, err,
			  "event '%s': this kernel has no such tracepoint (perf list "
			  "tracepoint shows them)",
			  asked->name);
	else if (err)
		log_error(log, err, "event '%s': %s", asked->name, tracefs_strerror(err));
	return err;
}

int event_list_open(struct event_list *list, const struct perf_poke_event *asked, size_t nr,
		    int tracefs_fd, int root_fd, const struct log *log)
{
	struct event_list made = {};
	size_t nr_sampled = 0;
	int err = 0;

	for (size_t i = 0; i < nr; i++)
		nr_sampled += pmu_event_is_name(asked[i].name);
	if (nr == nr_sampled)
		err = event_list_add_default(&made, tracefs_fd, root_fd, log);
	for (size_t i = 0; i < nr && !err; i++) {
		struct event event = {};

		if (!pmu_event_is_name(asked[i].name)) {
			err = event_list_add_tracepoints(&made, tracefs_fd, &asked[i], log);
			continue;
		}
		if (asked[i].filter)
			err = log_error(log, -EINVAL,
					"event '%s': not a tracepoint, so it takes no filter",
					asked[i].name);
		else
			err = pmu_event_parse(&event.sampled, root_fd, asked[i].name, log);
		if (err)
			break;
		event.name = strdup(asked[i].name);
		err = event.name ? event_list_append(&made, event) : -ENOMEM;
	}
	if (err) {
		event_list_close(&made);
		return err;
	}
	*list = made;
	return 0;
}
