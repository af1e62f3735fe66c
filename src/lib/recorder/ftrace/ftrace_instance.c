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

int ftrace_instance_write(const struct ftrace_recorder *ftrace, const char *file, const char *text)
{
	errno = 0;
	if (tracefs_instance_file_write(ftrace->instance, file, text) >= 0)
		return 0;
	return errno ? -errno : -EIO;
}

/* The session is known by its name, others by their process. */
static int instance_make(struct ftrace_recorder *ftrace, const char *session, const struct log *log)
{
	char path[sizeof(ftrace->name) + 16];
	int err = -EEXIST;

	for (int i = 1; i <= NAME_TRIES && err == -EEXIST; i++) {
		if (session)
			snprintf(ftrace->name, sizeof(ftrace->name), "perf-poke-%s", session);
		else
			snprintf(ftrace->name, sizeof(ftrace->name), "perf-poke.%d.%d", getpid(),
				 i);
		snprintf(path, sizeof(path), "instances/%s", ftrace->name);
		err = journal_mkdir(ftrace->journal, path);
		if (session)
			break;
	}
	if (err == -EEXIST)
		return log_error(log, err,
				 "--recorder ftrace: the tracing instance %s exists, but is of no "
				 "session that has ended: choose another --session, or rmdir "
				 "/sys/kernel/tracing/%s",
				 ftrace->name, path);
	if (!err) {
		ftrace->instance = tracefs_instance_alloc(ftrace->dir, ftrace->name);
		err = ftrace->instance ? 0 : -errno;
	}
	return err ? log_error(log, err,
			       "--recorder ftrace: cannot make the tracing instance %s: %s",
			       ftrace->name, tracefs_strerror(err))
		   : 0;
}

/* Rings, clock and CPUs. The instance has the options of the main one, which may be anybody's. */
static int instance_set_rings(struct ftrace_recorder *ftrace, const struct recorder_config *config,
			      const struct log *log)
{
	const struct {
		const char *file, *text;
	} settings[] = {
		{ "tracing_on", "0" },
		{ "trace_clock", "mono" },
		{ "options/overwrite", "1" },
		{ "options/record-cmd", "1" },
	};
	_cleanup_free_ char *cpus = NULL;
	const char *what = settings[0].file;
	int err = cpulist_format(config->cpus, config->nr_cpus, &cpus);

	for (size_t i = 0; i < ARRAY_SIZE(settings) && !err; i++) {
		what = settings[i].file;
		err = ftrace_instance_write(ftrace, what, settings[i].text);
		/* Options depend on the kernel's configuration. */
		if (err == -ENOENT && has_prefix(what, "options/"))
			err = 0;
	}
	if (!err) {
		what = "tracing_cpumask";
		err = tracefs_instance_set_affinity(ftrace->instance, cpus) < 0 ? -errno : 0;
	}
	if (!err) {
		what = "buffer_size_kb";
		if (tracefs_instance_set_buffer_size(ftrace->instance, UNWATCHED_KIB, -1) < 0)
			err = -errno;
	}
	for (size_t i = 0; i < config->nr_cpus && !err; i++) {
		if (tracefs_instance_set_buffer_size(ftrace->instance, ftrace->buffer_size / 1024,
						     config->cpus[i]) < 0)
			err = errno ? -errno : -ENOMEM;
	}
	return err ? log_error(log, err, "--recorder ftrace: cannot set %s of the instance: %s%s",
			       what, strerror(-err), err == -ENOMEM ? " (see --buffer)" : "")
		   : 0;
}

static bool wants_stack(const struct ftrace_recorder *ftrace, const char *event)
{
	return ftrace->call_graph &&
	       (!strcmp(event, RECORDS_SWITCH) || !strcmp(event, "sched:sched_waking") ||
		!strcmp(event, "sched:sched_wakeup"));
}

static int instance_enable_event(struct ftrace_recorder *ftrace, const struct event *event,
				 const struct log *log)
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
		err = ftrace_instance_write(ftrace, path, event->filter);
	}
	if (!err && wants_stack(ftrace, event->name)) {
		strcpy(path + length, "trigger");
		err = ftrace_instance_write(ftrace, path, "stacktrace");
	}
	if (!err) {
		strcpy(path + length, "enable");
		err = ftrace_instance_write(ftrace, path, "1");
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
		err = instance_enable_event(ftrace, &ftrace->list.events[i], log);
	/* The message of the spike is the last event of its trace. */
	if (!err)
		err = ftrace_instance_write(ftrace, PAUSE_MESSAGE_EVENT "enable", "1");
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
	return ftrace_instance_write(ftrace, PAUSE_MESSAGE_EVENT "trigger", text);
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

static int instance_open_rings(struct ftrace_recorder *ftrace, const struct log *log)
{
	for (size_t i = 0; i < ftrace->nr_cpus; i++) {
		char path[64];

		snprintf(path, sizeof(path), "per_cpu/cpu%d/%s", ftrace->cpus[i].cpu,
			 ftrace->base.reads_late ? "snapshot_raw" : "trace_pipe_raw");
		ftrace->cpus[i].fd = tracefs_instance_file_open(ftrace->instance, path,
								O_RDONLY | O_NONBLOCK | O_CLOEXEC);
		if (ftrace->cpus[i].fd < 0)
			return log_error(log, -errno, "--recorder ftrace: cannot open %s: %s", path,
					 strerror(errno));
	}
	return 0;
}

int ftrace_instance_open(struct ftrace_recorder *ftrace, const struct recorder_config *config,
			 const struct log *log)
{
	int err = journal_open(&ftrace->journal, JOURNAL_DIR, ftrace->tracefs, log);

	if (!err)
		err = instance_make(ftrace, config->opts->session, log);
	if (!err)
		err = instance_set_rings(ftrace, config, log);
	if (!err)
		err = instance_set_freeze(ftrace, config->opts->freeze, log);
	if (!err)
		err = instance_enable_events(ftrace, log);
	if (!err)
		err = ftrace_tracer_start(ftrace, log);
	return err ? err : instance_open_rings(ftrace, log);
}

/* While rings are open, the kernel changes no tracer and removes no instance. */
void ftrace_instance_stop(struct ftrace_recorder *ftrace)
{
	for (size_t i = 0; i < ftrace->nr_cpus; i++)
		closep(&ftrace->cpus[i].fd);
	if (ftrace->instance)
		ftrace_instance_write(ftrace, "current_tracer", "nop");
}

void ftrace_instance_close(struct ftrace_recorder *ftrace)
{
	ftrace_instance_stop(ftrace);
	if (ftrace->instance)
		tracefs_instance_free(TAKE_PTR(ftrace->instance));
	journal_close(TAKE_PTR(ftrace->journal), false);
}
