// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
#include "recorder/ftrace/ftrace.h"

#include <fcntl.h>
#include <inttypes.h>
#include <string.h>

#include <tracefs/tracefs.h>

#include "cpulist.h"
#include "io.h"
#include "text.h"

#define NAME_TRIES 100
/* Rings of CPUs that are not watched, and stay empty. */
#define UNWATCHED_KIB 8

int ftrace_instance_write(struct tracefs_instance *instance, const char *file, const char *text)
{
	errno = 0;
	if (tracefs_instance_file_write(instance, file, text) >= 0)
		return 0;
	return errno ? -errno : -EIO;
}

/* The session is known by its name, others by their process. */
int ftrace_instance_make(struct ftrace_recorder *ftrace, struct tracefs_instance **instance,
			 const char *session, const char *suffix, const struct log *log)
{
	char name[128], path[sizeof(name) + 16];
	int err = -EEXIST;

	for (int i = 1; i <= NAME_TRIES && err == -EEXIST; i++) {
		if (session)
			snprintf(name, sizeof(name), "perf-poke-%s%s", session, suffix);
		else
			snprintf(name, sizeof(name), "perf-poke.%d.%d%s", getpid(), i, suffix);
		snprintf(path, sizeof(path), "instances/%s", name);
		err = journal_mkdir(ftrace->journal, path);
		if (session)
			break;
	}
	if (err == -EEXIST)
		return log_error(log, err,
				 "--recorder ftrace: the tracing instance %s exists, but is of no "
				 "session that has ended: choose another --session, or rmdir "
				 "/sys/kernel/tracing/%s",
				 name, path);
	if (!err) {
		*instance = tracefs_instance_alloc(ftrace->dir, name);
		err = *instance ? 0 : -errno;
	}
	return err ? log_error(log, err,
			       "--recorder ftrace: cannot make the tracing instance %s: %s", name,
			       tracefs_strerror(err))
		   : 0;
}

/* The instance has the options of the main one, which may be anybody's. */
int ftrace_instance_set_rings(struct tracefs_instance *instance, const int *cpus, size_t nr_cpus,
			      uint64_t ring_size, const struct log *log)
{
	const struct {
		const char *file, *text;
	} settings[] = {
		{ "tracing_on", "0" },
		{ "trace_clock", "mono" },
		{ "options/overwrite", "1" },
		{ "options/record-cmd", "1" },
	};
	_cleanup_free_ char *list = NULL;
	const char *what = settings[0].file;
	int err = cpulist_format(cpus, nr_cpus, &list);

	for (size_t i = 0; i < ARRAY_SIZE(settings) && !err; i++) {
		what = settings[i].file;
		err = ftrace_instance_write(instance, what, settings[i].text);
		/* Options depend on the kernel's configuration. */
		if (err == -ENOENT && has_prefix(what, "options/"))
			err = 0;
	}
	if (!err) {
		what = "tracing_cpumask";
		err = tracefs_instance_set_affinity(instance, list) < 0 ? -errno : 0;
	}
	if (!err) {
		what = "buffer_size_kb";
		if (tracefs_instance_set_buffer_size(instance, UNWATCHED_KIB, -1) < 0)
			err = -errno;
	}
	for (size_t i = 0; i < nr_cpus && !err; i++) {
		if (tracefs_instance_set_buffer_size(instance, ring_size / 1024, cpus[i]) < 0)
			err = errno ? -errno : -ENOMEM;
	}
	return err ? log_error(log, err, "--recorder ftrace: cannot set %s of the instance: %s%s",
			       what, strerror(-err), err == -ENOMEM ? " (see --buffer)" : "")
		   : 0;
}

/* Where a thread gave up the CPU is the place of its wait. */
static bool wants_stack(const struct ftrace_recorder *ftrace, const char *event)
{
	return !strcmp(event, RECORDS_SWITCH) ||
	       (ftrace->call_graph &&
		(!strcmp(event, "sched:sched_waking") || !strcmp(event, "sched:sched_wakeup")));
}

/* The event's own filter is none of its triggers'. */
static int instance_add_stacks(struct tracefs_instance *instance, const char *path,
			       const char *filter)
{
	_cleanup_free_ char *text =
		filter ? strfmt("stacktrace if %s", filter) : strdup("stacktrace");

	return text ? ftrace_instance_write(instance, path, text) : -ENOMEM;
}

int ftrace_instance_enable_event(struct tracefs_instance *instance, const struct event *event,
				 bool with_stack, const struct log *log)
{
	const char *colon = strchr(event->name, ':');
	char path[400];
	size_t length;
	int err = 0;

	length = snprintf(path, sizeof(path), "events/%.*s/%s/", (int)(colon - event->name),
			  event->name, colon + 1);
	if (length + sizeof("trigger") > sizeof(path))
		return -ENAMETOOLONG;
	if (event->filter) {
		strcpy(path + length, "filter");
		err = ftrace_instance_write(instance, path, event->filter);
	}
	if (!err && with_stack) {
		strcpy(path + length, "trigger");
		err = instance_add_stacks(instance, path, event->filter);
	}
	if (!err) {
		strcpy(path + length, "enable");
		err = ftrace_instance_write(instance, path, "1");
	}
	if (!err || event->optional)
		return 0;
	return log_error(log, err, "event '%s'%s%s%s: %s", event->name,
			 event->filter ? " with the filter '" : "", event->filter ?: "",
			 event->filter ? "'" : "", tracefs_strerror(err));
}

static int instance_enable_events(struct ftrace_recorder *ftrace, const struct log *log)
{
	int err = 0;

	for (size_t i = 0; i < ftrace->list.nr && !err; i++)
		err = ftrace_instance_enable_event(ftrace->instance, &ftrace->list.events[i],
						   wants_stack(ftrace, ftrace->list.events[i].name),
						   log);
	for (size_t i = 0; i < ftrace->sender_list.nr && !err; i++)
		err = ftrace_instance_enable_event(ftrace->instance, &ftrace->sender_list.events[i],
						   true, log);
	/* The message of the spike is the last event of its trace. */
	if (!err)
		err = ftrace_instance_write(ftrace->instance, PAUSE_MESSAGE_EVENT "enable", "1");
	return err;
}

/* Tries whether the kernel has the trigger, and a second ring for it. */
static int instance_try_freeze(struct ftrace_recorder *ftrace, enum perf_poke_freeze freeze)
{
	const bool swap = freeze == PERF_POKE_FREEZE_SWAP;
	char text[96];

	pause_message_trigger(text, sizeof(text), swap ? "snapshot" : "traceoff",
			      ftrace->base.pause_message);
	ftrace->freeze = freeze;
	ftrace->base.freeze = swap ? "swap" : "traceoff";
	ftrace->base.reads_late = swap;
	return ftrace_instance_write(ftrace->instance, PAUSE_MESSAGE_EVENT "trigger", text);
}

static int instance_set_freeze(struct ftrace_recorder *ftrace, enum perf_poke_freeze wanted,
			       const struct log *log)
{
	int err = pause_message_make(ftrace->base.pause_message, NULL,
				     sizeof(ftrace->base.pause_message));

	if (err)
		return err;
	err = instance_try_freeze(ftrace, wanted ?: PERF_POKE_FREEZE_SWAP);
	if (err && !wanted)
		err = instance_try_freeze(ftrace, PERF_POKE_FREEZE_TRACEOFF);
	return err ? log_error(log, err,
			       "--freeze %s: the kernel refuses the trigger on its messages: %s%s",
			       ftrace->base.freeze, strerror(-err),
			       ftrace->freeze == PERF_POKE_FREEZE_SWAP
				       ? " (needs CONFIG_TRACER_SNAPSHOT, and memory for a second "
					 "ring): use --freeze traceoff, or auto"
				       : "")
		   : 0;
}

int ftrace_instance_open_ring(struct tracefs_instance *instance, struct ftrace_cpu *cpu,
			      const char *file)
{
	char path[64];

	snprintf(path, sizeof(path), "per_cpu/cpu%d/%s", cpu->cpu, file);
	cpu->fd = tracefs_instance_file_open(instance, path, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
	return cpu->fd < 0 ? -errno : 0;
}

int ftrace_ring_read(const struct ftrace_cpu *cpu, uint64_t ring_size, struct trace_dat_ring *ring)
{
	const size_t page = sysconf(_SC_PAGESIZE);
	/* A page has a header, and the kernel adds a page or two. */
	const size_t room = (ring_size / (page - TRACE_DAT_PAGE_HEADER) + 4) * page;

	ring->cpu = cpu->cpu;
	ring->size = 0;
	ring->pages = ring->pages ?: malloc(room);
	if (!ring->pages)
		return -ENOMEM;
	while (ring->size + 2 * page <= room) {
		ssize_t len = read(cpu->fd, ring->pages + ring->size, page);

		if (len < 0 && errno == EINTR)
			continue;
		if (len < 0 && errno != EAGAIN)
			return -errno;
		if (len <= 0)
			return 0;
		/* What follows the events is not always written. */
		memset(ring->pages + ring->size + len, 0, page - len);
		ring->size += page;
	}
	return 0;
}

static int instance_open_rings(struct ftrace_recorder *ftrace, const struct log *log)
{
	const char *file = ftrace->base.reads_late ? "snapshot_raw" : "trace_pipe_raw";
	int err = 0;

	for (size_t i = 0; i < ftrace->nr_cpus && !err; i++)
		err = ftrace_instance_open_ring(ftrace->instance, &ftrace->cpus[i], file);
	return err ? log_error(log, err, "--recorder ftrace: cannot open %s: %s", file,
			       strerror(-err))
		   : 0;
}

int ftrace_instance_open(struct ftrace_recorder *ftrace, const struct recorder_config *config,
			 const struct log *log)
{
	int err = journal_open(&ftrace->journal, JOURNAL_DIR, ftrace->tracefs, log);

	if (!err)
		err = ftrace_instance_make(ftrace, &ftrace->instance, config->opts->session, "",
					   log);
	if (!err)
		err = ftrace_instance_set_rings(ftrace->instance, config->cpus, config->nr_cpus,
						ftrace->buffer_size, log);
	if (!err)
		err = instance_set_freeze(ftrace, config->opts->freeze, log);
	if (!err)
		err = instance_enable_events(ftrace, log);
	if (!err)
		err = ftrace_tracer_start(ftrace, log);
	return err ? err : instance_open_rings(ftrace, log);
}

/* While rings are open, the kernel changes no tracer and removes no instance. It patches all traced
 * functions to take the tracer off, and waits until no thread is in the code that did trace. */
void ftrace_instance_stop(struct ftrace_recorder *ftrace)
{
	for (size_t i = 0; i < ftrace->nr_cpus; i++)
		closep(&ftrace->cpus[i].fd);
	if (!ftrace->instance)
		return;
	ftrace_instance_write(ftrace->instance, "tracing_on", "0");
	if (!ftrace->base.leaves)
		ftrace_instance_write(ftrace->instance, "current_tracer", "nop");
}

void ftrace_instance_close(struct ftrace_recorder *ftrace)
{
	ftrace_instance_stop(ftrace);
	if (ftrace->instance)
		tracefs_instance_free(TAKE_PTR(ftrace->instance));
	if (ftrace->base.leaves)
		journal_leave(TAKE_PTR(ftrace->journal));
	else
		journal_close(TAKE_PTR(ftrace->journal), false);
}
