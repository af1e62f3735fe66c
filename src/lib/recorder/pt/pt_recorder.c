// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
/* The recorder `pt`: Intel PT in an overwrite AUX ring per CPU. */
#include <fcntl.h>
#include <inttypes.h>
#include <string.h>

#include "clock.h"
#include "machine/base.h"
#include "perfdata.h"
#include "recorder/pt/pt.h"
#include "recorder/recorder.h"
#include "task.h"

#define AUX_DEFAULT (16ULL << 20)
/* Per watched CPU: about 10,000 context switches. */
#define SWITCH_RING (512 << 10)
/* A record is limited to 64 KiB with all its fields: the limit of perf record --aux-sample. */
#define SAMPLE_SIZE (60ULL << 10)

static void pt_recorder_free(struct recorder *recorder)
{
	struct pt_recorder *pt = to_pt(recorder);

	pt_events_free(pt->events);
	tsc_clock_close(&pt->clock);
	pt_pool_free(pt->pool);
	rings_free(pt->switches);
	senders_free(pt->stacks);
	task_names_free(pt->names);
	senders_free(pt->senders);
	perfdata_features_free(pt->features);
	kernel_symbols_close(&pt->symbols);
	closep(&pt->root_fd);
	free(pt->filter);
	free(pt);
}

/* No clockid: perf converts TSC, Intel PT's clock, to its default clock. */
static void pt_common_attr(struct perf_event_attr *attr)
{
	*attr = (struct perf_event_attr){
		.size = sizeof(*attr),
		.sample_period = 1,
		.sample_type = RECORDS_SAMPLE_TYPE,
		.read_format = PERF_FORMAT_ID,
		.sample_id_all = 1,
	};
}

static int pt_read_config(struct pt_recorder *pt, const struct recorder_config *config,
			  const struct log *log)
{
	_cleanup_close_ int fd = open(PT_PMU_DIR, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	const struct perf_poke_event *event =
		config->opts->nr_events ? &config->opts->events[0] : NULL;
	int err;

	if (config->opts->freeze_all && config->opts->freeze == PERF_POKE_FREEZE_SAMPLE)
		return log_error(log, -EINVAL,
				 "freeze sample: captures the trace of one CPU and cannot be "
				 "combined with freeze-all");
	if (fd < 0)
		return log_error(log, -ENODEV,
				 "recorder pt: no Intel PT on this machine (no PMU intel_pt): use "
				 "the recorder events");
	/* IDs of others are 0 there, and the trace would be of one task. */
	if (!pids_are_global())
		return log_error(log, -EPERM,
				 "recorder pt: perf does not know the tasks outside of this PID "
				 "namespace: run in the first one (containers: --pid host), or use "
				 "the recorder events");
	if (config->opts->nr_events > 1)
		return log_error(log, -EINVAL, "event '%s': the recorder pt takes one event only",
				 config->opts->events[1].name);
	err = pt_config_parse(&pt->config, fd, event ? event->name : NULL, log);
	if (!err && event && event->filter)
		err = addr_filter_resolve(&pt->filter, event->filter, pt->config.nr_addr_filters,
					  log);
	if (err)
		return err;
	if (pt->filter && pt->config.exclude_kernel)
		return log_error(log, -EINVAL,
				 "address filter '%s': filters the kernel, which event '%s' "
				 "excludes: use the modifier k",
				 event->filter, event->name);
	pt_common_attr(&pt->attr);
	pt->attr.type = pt->config.type;
	pt->attr.config = pt->config.config;
	pt->attr.exclude_user = pt->config.exclude_user;
	pt->attr.exclude_kernel = pt->config.exclude_kernel;
	pt->attr.exclude_hv = 1;
	pt->attr.disabled = 1;
	return 0;
}

static int pt_make_messages(struct recorder *recorder, enum perf_poke_freeze freeze)
{
	recorder->pause_message[0] = recorder->resume_message[0] = '\0';
	if (freeze == PERF_POKE_FREEZE_SIGNAL)
		return 0;
	return pause_message_make(recorder->pause_message,
				  freeze == PERF_POKE_FREEZE_PAUSE ? recorder->resume_message
								   : NULL,
				  sizeof(recorder->pause_message));
}

/* Rings that a spike copies: one more for a migrated thread, all for a poke. */
static size_t pt_nr_copies(const struct pt_recorder *pt)
{
	return pt->freeze_all ? pt->nr_cpus : 1;
}

/* -EOPNOTSUPP, without a message: not supported here. */
static int pt_try_freeze(struct pt_recorder *pt, const struct recorder_config *config,
			 enum perf_poke_freeze freeze, const struct log *log)
{
	struct pt_events_config events = {
		.attr = pt->attr,
		.filter = pt->filter,
		.cpus = config->cpus,
		.nr_cpus = config->nr_cpus,
		.aux_size = pt->aux_size,
		.nr_copies = pt_nr_copies(pt),
		.sample_type = RECORDS_SAMPLE_TYPE,
		.pause_message = pt->base.pause_message,
		.resume_message = pt->base.resume_message,
	};
	int err = pt_make_messages(&pt->base, freeze);

	if (err)
		return err;
	if (freeze == PERF_POKE_FREEZE_SAMPLE)
		events.sample_size = SAMPLE_SIZE;
	if (freeze != PERF_POKE_FREEZE_SIGNAL) {
		events.printk_id = tracefs_printk_id();
		if (!events.printk_id)
			return -EOPNOTSUPP;
	}
	pt->freeze = freeze;
	pt->base.freeze = pt_freeze_name(freeze);
	return pt_events_open(&pt->events, &events, log);
}

/* Uses the requested way to freeze, or the first one that works. */
static int pt_open_events(struct pt_recorder *pt, const struct recorder_config *config,
			  const struct log *log)
{
	int err = -EOPNOTSUPP;

	for (int i = PERF_POKE_FREEZE_PAUSE; i <= PERF_POKE_FREEZE_SIGNAL && err == -EOPNOTSUPP;
	     i++) {
		enum perf_poke_freeze freeze = i;

		if (config->opts->freeze
			    ? config->opts->freeze == freeze
			    : freeze != PERF_POKE_FREEZE_SAMPLE || !config->opts->freeze_all)
			err = pt_try_freeze(pt, config, freeze, log);
	}
	if (err == -EOPNOTSUPP)
		log_error(log, err,
			  "freeze %s: not on this kernel (pause needs Linux 6.13, sample "
			  "5.5): use another, or auto",
			  pt_freeze_name(config->opts->freeze));
	return err;
}

/* Formats of the tracepoints. perf requires that of the sample event, although nobody reads its
 * fields. */
static int pt_read_formats(struct pt_recorder *pt, int tracefs, const struct log *log)
{
	const struct senders *const both[] = { pt->stacks, pt->senders };
	const char *names[1 + ARRAY_SIZE(both) * SENDERS_EVENTS_MAX];
	size_t nr = 0, nr_events;
	int err;

	if (pt->freeze == PERF_POKE_FREEZE_SAMPLE)
		names[nr++] = "bpf_trace:bpf_trace_printk";
	for (size_t i = 0; i < ARRAY_SIZE(both); i++) {
		const struct ring_event *events = senders_ring_events(both[i], &nr_events);

		for (size_t j = 0; j < nr_events; j++)
			names[nr++] = events[j].name;
	}
	if (!nr)
		return 0;
	err = tracefs < 0 ? tracefs
			  : perfdata_features_add_tracing(pt->features, tracefs, names, nr);
	return err ? log_error(log, err, "cannot read the formats of %s and others: %s", names[0],
			       strerror(-err))
		   : 0;
}

static int pt_open_tracepoints(struct pt_recorder *pt, const struct recorder_config *config,
			       const struct log *log)
{
	_cleanup_close_ int tracefs = tracefs_open();
	bool switches = !config->opts->no_switch_events;
	struct perf_event_attr attr;
	int err = 0;

	pt_common_attr(&attr);
	attr.write_backward = 1;
	if (tracefs >= 0 && switches)
		err = senders_open(&pt->stacks, &attr, config, SENDERS_SWITCHES, tracefs, log);
	if (tracefs >= 0 && !err)
		err = senders_open(&pt->senders, &attr, config,
				   switches ? SENDERS_REQUESTS | SENDERS_WAKERS | SENDERS_MIGRATIONS
					    : SENDERS_REQUESTS,
				   tracefs, log);
	return err ? err : pt_read_formats(pt, tracefs, log);
}

static int pt_open_clock(struct pt_recorder *pt, const struct log *log)
{
	struct perf_event_mmap_page page;
	int err = tsc_clock_open(&pt->clock);

	if (err)
		return log_error(log, err, "cannot open the event that converts TSC: %s",
				 strerror(-err));
	tsc_clock_read(&pt->clock, &page);
	if (!tsc_is_perf_clock(&page))
		log_write(
			log, PERF_POKE_LOG_WARN,
			"the kernel does not use TSC as perf's clock (tsc=unstable, or see dmesg): "
			"captures have the order of execution without times, so report cannot "
			"name the cause");
	return 0;
}

static int pt_open_pool(struct pt_recorder *pt, const struct log *log)
{
	/* The kernel itself copies samples. */
	size_t kept = pt->freeze == PERF_POKE_FREEZE_SAMPLE ? 0 : pt_nr_copies(pt);
	int err = pt_pool_new(&pt->pool, kept, pt->aux_size);

	return err ? log_error(log, err, "buffer %zu: no memory for copies of %zu AUX rings",
			       pt->aux_size, kept)
		   : 0;
}

static int pt_open_task_names(struct pt_recorder *pt, const struct recorder_config *config,
			      const struct log *log)
{
	struct perf_event_attr attr;
	int err;

	pt_common_attr(&attr);
	attr.write_backward = 1;
	attr.text_poke = 1;
	if (!pt->config.exclude_user)
		attr.mmap = attr.mmap2 = 1;
	err = task_names_open(&pt->names, &attr, pt->root_fd, log);
	if (err)
		return err;
	if (config->opts->no_switch_events)
		return 0;
	attr.text_poke = attr.mmap = attr.mmap2 = 0;
	attr.type = PERF_TYPE_SOFTWARE;
	attr.config = PERF_COUNT_SW_DUMMY;
	attr.context_switch = 1;
	pt->switch_event = (struct ring_event){ .attr = attr, .name = "dummy:u" };
	return rings_open(&pt->switches, &pt->switch_event, 1, config->cpus, config->nr_cpus,
			  rings_pages_for_size(SWITCH_RING), log);
}

static int pt_recorder_open(struct recorder **ret, const struct recorder_config *config,
			    const struct log *log)
{
	struct pt_recorder *pt = calloc(1, sizeof(*pt) + config->nr_cpus * sizeof(pt->cpus[0]));
	int err;

	if (!pt)
		return -ENOMEM;
	pt->base.ops = &pt_recorder;
	pt->nr_cpus = config->nr_cpus;
	pt->freeze_all = config->opts->freeze_all;
	pt->raw_rings = config->opts->raw_rings;
	pt->aux_size = rings_pages_for_size(config->opts->buffer_size ? config->opts->buffer_size
								      : AUX_DEFAULT) *
		       sysconf(_SC_PAGESIZE);
	kernel_symbols_init(&pt->symbols, config->work_fd);
	for (size_t i = 0; i < pt->nr_cpus; i++)
		pt->cpus[i].cpu = config->cpus[i];
	pt->root_fd = open("/", O_PATH | O_DIRECTORY | O_CLOEXEC);
	err = pt->root_fd < 0 ? -errno : pt_read_config(pt, config, log);
	if (!err)
		err = perfdata_features_new(&pt->features, pt->root_fd, perf_poke__version(),
					    config->opts->argv, config->opts->argc);
	if (!err)
		err = pt_open_events(pt, config, log);
	if (!err)
		err = pt_open_clock(pt, log);
	if (!err)
		err = pt_open_pool(pt, log);
	if (!err)
		err = pt_open_tracepoints(pt, config, log);
	if (!err)
		err = pt_open_task_names(pt, config, log);
	if (err) {
		pt_recorder_free(&pt->base);
		return err;
	}
	*ret = &pt->base;
	return 0;
}

static int pt_enable_trace(struct pt_recorder *pt, size_t i)
{
	pt->cpus[i].started_tsc = tsc_read_counter();
	return pt_events_enable(pt->events, i);
}

static const char *kcore_error_advice(int error)
{
	switch (error) {
	case -EPERM:
		return " (needs CAP_SYS_RAWIO and CAP_SYSLOG, kernel.kptr_restrict below 2, and no "
		       "lockdown)";
	case -ENODATA:
		return " (none of its segments holds the kernel's text)";
	default:
		return "";
	}
}

/* Copies the kernel's code before tracing begins: the ring of task names has later patches. */
static int pt_start_traces(struct recorder *recorder, const struct log *log)
{
	struct pt_recorder *pt = to_pt(recorder);
	int err = kernel_symbols_prepare(&pt->symbols, pt->root_fd);

	if (err)
		return log_error(log, err,
				 "cannot copy the kernel's code to the folder for captures: %s",
				 strerror(-err));
	if (pt->symbols.kcore_error)
		log_write(log, PERF_POKE_LOG_WARN,
			  "cannot read /proc/kcore: %s%s: captures lack the kernel's code and "
			  "cannot be decoded without it",
			  strerror(-pt->symbols.kcore_error),
			  kcore_error_advice(pt->symbols.kcore_error));
	for (size_t i = 0; i < pt->nr_cpus && !err; i++)
		err = pt_enable_trace(pt, i);
	return err ? log_error(log, err, "cannot start Intel PT: %s", strerror(-err)) : 0;
}

static int pt_cpu_online(struct recorder *recorder, int cpu)
{
	struct pt_recorder *pt = to_pt(recorder);
	int err = 0, switch_err, stacks_err, names_err, senders_err;

	for (size_t i = 0; i < pt->nr_cpus; i++) {
		if (pt->cpus[i].cpu != cpu)
			continue;
		pt->cpus[i].next = 0;
		pt->cpus[i].frozen = pt->cpus[i].sampled = false;
		err = pt_events_reopen(pt->events, i);
		if (!err)
			err = pt_enable_trace(pt, i);
	}
	switch_err = pt->switches ? rings_reopen_cpu(pt->switches, cpu) : 0;
	stacks_err = senders_cpu_online(pt->stacks, cpu);
	names_err = task_names_cpu_online(pt->names, cpu);
	senders_err = senders_cpu_online(pt->senders, cpu);
	return err ?: switch_err ?: stacks_err ?: names_err ?: senders_err;
}

static int pt_freeze_traces(struct recorder *recorder, const struct perf_poke_spike *spike)
{
	struct pt_recorder *pt = to_pt(recorder);
	/* The kernel samples the CPU that saw the spike. If a migrated thread involves a second
	 * CPU, both rings are copied, because a file has either samples or rings. A poke makes no
	 * sample. */
	bool sampled = pt->freeze == PERF_POKE_FREEZE_SAMPLE && !spike->poked &&
		       spike->cpu == spike->ran_cpu;
	int ret = 0;

	for (size_t i = 0; i < pt->nr_cpus; i++) {
		int cpu = pt->cpus[i].cpu, err;
		bool wanted = pt->freeze_all || spike->poked || cpu == spike->cpu ||
			      cpu == spike->ran_cpu;

		if (!pt_events_has_cpu(pt->events, i))
			continue;
		pt->cpus[i].sampled = wanted && sampled;
		pt->cpus[i].frozen = wanted && !sampled;
		err = pt->cpus[i].frozen ? pt_events_disable(pt->events, i) : 0;
		if (err && !ret)
			ret = err;
	}
	return ret;
}

static int pt_resume_traces(struct recorder *recorder)
{
	struct pt_recorder *pt = to_pt(recorder);
	int ret = 0;

	for (size_t i = 0; i < pt->nr_cpus; i++) {
		int err = pt->cpus[i].frozen ? pt_enable_trace(pt, i) : 0;

		pt->cpus[i].frozen = false;
		if (err && !ret)
			ret = err;
	}
	return ret;
}

static bool pt_suits_options(const struct recorder_config *config)
{
	return config->opts->nr_events ? pt_config_is_pt(config->opts->events[0].name)
				       : !access(PT_PMU_DIR, F_OK) && pids_are_global();
}

const struct recorder_ops pt_recorder = {
	.choice = { "pt", PERF_POKE_RECORDER_PT, "Intel PT: every branch" },
	.probe = { "intel_pt",
		   "needs an Intel CPU of 2015 or later, and no virtual machine that hides it; "
		   "--recorder events is used instead",
		   false, pt_probe_intel_pt },
	.suits = pt_suits_options,
	.open = pt_recorder_open,
	.start = pt_start_traces,
	.freeze = pt_freeze_traces,
	.copy = pt_copy_snapshot,
	.resume = pt_resume_traces,
	.copy_rest = pt_copy_rest,
	.cpu_online = pt_cpu_online,
	.write = pt_write_perfdata,
	.describe = pt_describe_recorder,
	.describe_snapshot = pt_describe_snapshot,
	.snapshot_free = pt_snapshot_free,
	.free = pt_recorder_free,
};
