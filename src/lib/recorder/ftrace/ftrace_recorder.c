// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
#include "recorder/ftrace/ftrace.h"

#include <fcntl.h>
#include <string.h>

#include <json-c/json.h>

#include "clock.h"
#include "io.h"
#include "json_util.h"

void ftrace_recorder_free(struct recorder *recorder)
{
	struct ftrace_recorder *ftrace = to_ftrace(recorder);

	ftrace_senders_close(TAKE_PTR(ftrace->senders));
	ftrace_instance_close(ftrace);
	event_list_close(&ftrace->list);
	event_list_close(&ftrace->sender_list);
	perfdata_buf_release(&ftrace->formats);
	perfdata_buf_release(&ftrace->functions);
	closep(&ftrace->tracefs);
	closep(&ftrace->root_fd);
	ftrace_tracer_release(&ftrace->tracer);
	free(ftrace);
}

static int ftrace_check_options(const struct recorder_config *config, const struct log *log)
{
	const struct perf_poke_opts *opts = config->opts;
	size_t nr_tracers = 0;

	if (opts->freeze == PERF_POKE_FREEZE_SIGNAL)
		return log_error(log, -EINVAL,
				 "--freeze signal: the recorder ftrace has swap and traceoff");
	for (size_t i = 0; i < opts->nr_events; i++) {
		const struct perf_poke_event *event = &opts->events[i];
		bool is_tracer = ftrace_tracer_is_name(event->name);

		if (pmu_event_is_name(event->name) && !is_tracer)
			return log_error(log, -EINVAL,
					 "event '%s': the recorder ftrace takes tracepoints, as "
					 "sched:sched_switch, and one of function_graph, function, "
					 "nop",
					 event->name);
		if (is_tracer && event->filter)
			return log_error(log, -EINVAL,
					 "event '%s': takes no filter, but functions=PATTERN",
					 event->name);
		if (is_tracer && nr_tracers++)
			return log_error(log, -EINVAL, "event '%s': is the second tracer",
					 event->name);
	}
	return 0;
}

static bool ftrace_suits_options(const struct recorder_config *config)
{
	for (size_t i = 0; i < config->opts->nr_events; i++) {
		if (ftrace_tracer_is_name(config->opts->events[i].name))
			return true;
	}
	return false;
}

/* Those of the caller are tracepoints and at most one tracer. */
static int ftrace_read_events(struct ftrace_recorder *ftrace, const struct perf_poke_opts *opts,
			      const struct log *log)
{
	_cleanup_free_ struct perf_poke_event *asked = calloc(opts->nr_events + 1, sizeof(*asked));
	size_t nr = 0;
	int err = asked ? 0 : -ENOMEM;

	for (size_t i = 0; i < opts->nr_events && !err; i++) {
		if (ftrace_tracer_is_name(opts->events[i].name))
			err = ftrace_tracer_parse(&ftrace->tracer, opts->events[i].name, log);
		else
			asked[nr++] = opts->events[i];
	}
	return err ? err
		   : event_list_open(&ftrace->list, asked, nr, ftrace->tracefs, ftrace->root_fd,
				     log);
}

/* Formats of the tracepoints, and of the tracers. */
static int ftrace_read_formats(struct ftrace_recorder *ftrace, const struct log *log)
{
	_cleanup_free_ const char **names = NULL;
	char text[2048];
	const char *id;
	size_t nr = 0;
	int err;

	names = calloc(ftrace->list.nr + ftrace->sender_list.nr + 1, sizeof(*names));
	if (!names)
		return -ENOMEM;
	for (size_t i = 0; i < ftrace->list.nr; i++)
		names[nr++] = ftrace->list.events[i].name;
	for (size_t i = 0; i < ftrace->sender_list.nr; i++)
		names[nr++] = ftrace->sender_list.events[i].name;
	names[nr++] = "bpf_trace:bpf_trace_printk";
	err = trace_dat_put_formats(&ftrace->formats, "6", ftrace->tracefs, names, nr, true);
	if (!err)
		err = trace_dat_put_functions(&ftrace->functions, ftrace->root_fd);
	if (!err)
		err = read_text_at(ftrace->tracefs, "events/ftrace/print/format", text,
				   sizeof(text));
	id = err ? NULL : strstr(text, "ID: ");
	ftrace->marker_id = id ? strtoul(id + 4, NULL, 10) : 0;
	return err ? log_error(log, err, "cannot read the formats of the events: %s",
			       tracefs_strerror(err))
		   : 0;
}

int ftrace_recorder_open(struct recorder **ret, const struct recorder_config *config, bool senders,
			 const struct log *log)
{
	const struct perf_poke_opts *opts = config->opts;
	struct ftrace_recorder *ftrace =
		calloc(1, sizeof(*ftrace) + config->nr_cpus * sizeof(ftrace->cpus[0]));
	int err = 0;

	if (!ftrace)
		return -ENOMEM;
	ftrace->base.ops = &ftrace_recorder;
	ftrace->buffer_size = rings_pages_for_size(opts->buffer_size ? opts->buffer_size
								     : FTRACE_BUFFER_DEFAULT) *
			      sysconf(_SC_PAGESIZE);
	ftrace->call_graph = opts->call_graph;
	ftrace->nr_cpus = config->nr_cpus;
	for (size_t i = 0; i < config->nr_cpus; i++)
		ftrace->cpus[i] = (struct ftrace_cpu){ .cpu = config->cpus[i], .fd = -1 };
	ftrace->root_fd = open("/", O_PATH | O_DIRECTORY | O_CLOEXEC);
	ftrace->tracefs = tracefs_open();
	if (ftrace->tracefs < 0)
		err = log_error(log, ftrace->tracefs,
				"no tracefs: mount -t tracefs tracefs /sys/kernel/tracing (%s)",
				tracefs_strerror(ftrace->tracefs));
	snprintf(ftrace->dir, sizeof(ftrace->dir), "/proc/self/fd/%d", ftrace->tracefs);
	if (!err)
		err = ftrace_read_events(ftrace, opts, log);
	if (!err && senders)
		err = ftrace_senders_list(ftrace, config);
	if (!err)
		err = ftrace_read_formats(ftrace, log);
	if (!err)
		err = ftrace_instance_open(ftrace, config, log);
	if (!err && senders)
		err = ftrace_senders_open(ftrace, config, log);
	if (err)
		ftrace_recorder_free(&ftrace->base);
	else
		*ret = &ftrace->base;
	return err;
}

static int ftrace_open_with_senders(struct recorder **ret, const struct recorder_config *config,
				    const struct log *log)
{
	return ftrace_recorder_open(ret, config, true, log);
}

static int ftrace_start_tracing(struct recorder *recorder, const struct log *log)
{
	const struct ftrace_recorder *ftrace = to_ftrace(recorder);
	int err = ftrace_senders_start(ftrace->senders)
			  ?: ftrace_instance_write(ftrace->instance, "tracing_on", "1");

	return err ? log_error(log, err, "cannot start tracing: %s", strerror(-err)) : 0;
}

static void ftrace_stop_tracing(struct recorder *recorder)
{
	ftrace_instance_stop(to_ftrace(recorder));
}

/* Without the message: at a poke, or while the trace before is still read. */
static int ftrace_freeze_rings(struct recorder *recorder, const struct perf_poke_spike *spike)
{
	struct ftrace_recorder *ftrace = to_ftrace(recorder);

	if (recorder->paused)
		return 0;
	ftrace->late_swaps += !spike->poked;
	return recorder->reads_late ? ftrace_instance_write(ftrace->instance, "snapshot", "1")
				    : ftrace_instance_write(ftrace->instance, "tracing_on", "0");
}

static int ftrace_resume_rings(struct recorder *recorder)
{
	return recorder->reads_late
		       ? 0
		       : ftrace_instance_write(to_ftrace(recorder)->instance, "tracing_on", "1");
}

static void ftrace_describe(const struct recorder *recorder, struct json_object *json)
{
	const struct ftrace_recorder *ftrace = (const struct ftrace_recorder *)recorder;
	struct json_object *list = json_object_new_array();

	for (size_t i = 0; i < ftrace->list.nr; i++) {
		struct json_object *event = json_object_new_object();

		json_add_text(event, "name", ftrace->list.events[i].name);
		if (ftrace->list.events[i].filter)
			json_add_text(event, "filter", ftrace->list.events[i].filter);
		json_object_array_add(list, event);
	}
	json_add_u64(json, "buffer_size", ftrace->buffer_size);
	json_add_text(json, "freeze", ftrace->base.freeze);
	json_add_text(json, "tracer", ftrace_tracer_name(ftrace->tracer.kind));
	json_add_known(json, "max_depth", ftrace->tracer.max_depth, 0);
	if (ftrace->tracer.functions)
		json_add_text(json, "functions", ftrace->tracer.functions);
	if (ftrace->tracer.notrace)
		json_add_text(json, "notrace", ftrace->tracer.notrace);
	json_add_text(json, "message", ftrace->base.pause_message);
	json_add_u64(json, "late_freezes", ftrace->late_swaps);
	json_add(json, "events", list);
}

const struct recorder_freeze ftrace_freezes[FTRACE_FREEZES] = {
	{ { "swap", PERF_POKE_FREEZE_SWAP, "the kernel swaps the rings, and goes on" },
	  { "ftrace_swap", "needs CONFIG_TRACER_SNAPSHOT; --freeze traceoff is used instead", false,
	    ftrace_probe_swap } },
	{ { "traceoff", PERF_POKE_FREEZE_TRACEOFF, "the kernel stops the tracing instance" },
	  { "ftrace_traceoff", "needs CONFIG_FTRACE, CONFIG_BPF_EVENTS and a writable tracefs",
	    false, ftrace_probe_traceoff } },
};

const struct recorder_ops ftrace_recorder = {
	.choice = { "ftrace", PERF_POKE_RECORDER_FTRACE,
		    "functions and tracepoints, in a tracing instance" },
	.probe = { "ftrace",
		   "needs CONFIG_FTRACE and CONFIG_BPF_EVENTS, and a tracefs that may be written",
		   false, ftrace_probe_recorder },
	.suits = ftrace_suits_options,
	.check = ftrace_check_options,
	.open = ftrace_open_with_senders,
	.start = ftrace_start_tracing,
	.stop = ftrace_stop_tracing,
	.can_leave = true,
	.freeze = ftrace_freeze_rings,
	.copy = ftrace_copy_rings,
	.resume = ftrace_resume_rings,
	.copy_rest = ftrace_copy_rest,
	.write = ftrace_write_capture,
	.describe = ftrace_describe,
	.snapshot_free = ftrace_snapshot_free,
	.free = ftrace_recorder_free,
};
