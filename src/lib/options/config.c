// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
#include "options/config.h"

#include <inttypes.h>
#include <sched.h>
#include <signal.h>
#include <string.h>

#include "base/base.h"
#include "bpf/poke.h"
#include "cpulist.h"
#include "options/table.h"
#include "sized_struct.h"

#define THRESHOLD_DEFAULT_NS 30000
#define PERIOD_DEFAULT_NS 1000000
#define PERIOD_MIN_NS 10000
#define PERIOD_MAX_NS 1000000000
#define PRIORITY_DEFAULT 95
#define BUFFER_MAX (1ULL << 31) /* the kernel's limit for the mapping of one event */
#define WAKE_MAX 23
#define WAKE_CHARACTERS "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_"
#define SIZE_MIN offsetof(struct perf_poke_opts, threshold_ns)

#define ONLINE "/sys/devices/system/cpu/online"

static bool cpu_exists(int cpu)
{
	char path[64];

	snprintf(path, sizeof(path), "/sys/devices/system/cpu/cpu%d", cpu);
	return !access(path, F_OK);
}

static int config_cpus(struct config *config, const struct perf_poke_opts *opts)
{
	const char *list = opts->cpus ? opts->cpus : "";
	_cleanup_free_ char *online_list = NULL;
	_cleanup_free_ int *online = NULL;
	size_t nr = 0;
	int err, missing;

	err = cpulist_parse(list, &config->cpus, &config->nr_cpus);
	if (err == -ENOMEM)
		return err;
	if (err == -ERANGE)
		return log_error(&config->log, -ENXIO, "cpu '%s': must be below %d", list,
				 CPULIST_MAX_CPUS);
	if (err || !config->nr_cpus)
		return log_error(&config->log, -EINVAL,
				 "cpu '%s': not a list of CPUs (as in 3 or 2,4-7)", list);
	err = cpulist_read(ONLINE, &online, &nr);
	if (err)
		return log_error(&config->log, err, "cannot read " ONLINE ": %s", strerror(-err));
	missing = cpulist_missing(config->cpus, config->nr_cpus, online, nr);
	if (missing < 0)
		return 0;
	err = cpulist_format(online, nr, &online_list);
	return err ? err
		   : log_error(&config->log, -ENXIO, "cpu %d: %s; online CPUs: %s", missing,
			       cpu_exists(missing) ? "is offline" : "does not exist", online_list);
}

static int config_numbers(struct config *config, const struct perf_poke_opts *opts)
{
	config->threshold_ns = opts->threshold_ns ? opts->threshold_ns : THRESHOLD_DEFAULT_NS;
	config->period_ns = opts->period_ns ? opts->period_ns : PERIOD_DEFAULT_NS;
	config->priority = opts->priority ? opts->priority : PRIORITY_DEFAULT;
	config->max_captures = opts->max_captures ? opts->max_captures : UINT64_MAX;
	config->output_owner = opts->output_owner;
	config->keep_worst = opts->keep_worst ? opts->keep_worst : UINT64_MAX;
	config->max_disk = opts->max_disk ? opts->max_disk : UINT64_MAX;
	config->cooldown_ns = opts->cooldown_ns;
	config->recording.buffer_size = opts->buffer_size;
	config->workload = opts->workload;
	config->recorder = opts->recorder;
	config->delivery = opts->delivery;
	config->recording.freeze = opts->freeze;
	config->recording.freeze_all = opts->freeze_all;
	config->recording.no_switch_events = opts->no_switch_events;
	config->recording.raw_rings = opts->raw_rings;
	config->recording.call_graph = opts->call_graph;
	config->recording.no_samples = opts->no_samples;

	if (config->period_ns < PERIOD_MIN_NS || config->period_ns > PERIOD_MAX_NS)
		return log_error(&config->log, -EINVAL, "period %" PRIu64 " ns: must be 10us to 1s",
				 config->period_ns);
	if (config->priority < 1 || config->priority > 99)
		return log_error(&config->log, -EINVAL, "priority %d: must be 1 to 99",
				 config->priority);
	if (config->recording.buffer_size > BUFFER_MAX)
		return log_error(&config->log, -EINVAL,
				 "buffer %" PRIu64 ": the kernel maps at most 2G for a CPU",
				 config->recording.buffer_size);
	return 0;
}

static int copy_string(char **to, const char *from)
{
	if (!from)
		return 0;
	*to = strdup(from);
	return *to ? 0 : -ENOMEM;
}

static int config_workload_opts(struct config *config, const struct perf_poke_opts *opts)
{
	char fifo[32];

	config->hold_dma_latency = opts->hold_dma_latency;
	config->dma_latency_us = opts->dma_latency_us;
	config->limit_idle_state = opts->limit_idle_state;
	config->deepest_idle_state = opts->deepest_idle_state;
	if (copy_string(&config->cgroup, opts->cgroup))
		return -ENOMEM;
	snprintf(fifo, sizeof(fifo), "f:%d", config->priority);
	if (!opts->scheduler && !opts->priority)
		return 0;
	if (scheduling_parse(opts->scheduler ? opts->scheduler : fifo, &config->sched))
		return log_error(
			&config->log, -EINVAL,
			"scheduler '%s': must be f:1 to f:99, r:1 to r:99, o:-20 to o:19, or "
			"d:RUNTIME:PERIOD",
			opts->scheduler ? opts->scheduler : fifo);
	if (config->sched.policy == SCHED_FIFO)
		config->priority = config->sched.priority;
	return 0;
}

/* A row of an array with rows of the caller's size. */
static int config_row(const struct config *config, const char *what, void *row, size_t size,
		      const void *rows, size_t row_sz, size_t i)
{
	if (row_sz < size)
		return log_error(&config->log, -EINVAL,
				 "%s_sz %zu: must be sizeof(struct perf_poke_%s)", what, row_sz,
				 what);
	if (sized_struct_read(row, size, (const char *)rows + i * row_sz, row_sz, size))
		return log_error(&config->log, -EINVAL,
				 "%s_sz %zu: the library has no member that is set (struct "
				 "perf_poke_%s)",
				 what, row_sz, what);
	return 0;
}

static int config_triggers(struct config *config, const struct perf_poke_opts *opts)
{
	config->triggers = calloc(opts->nr_triggers + 1, sizeof(*config->triggers));
	if (!config->triggers)
		return -ENOMEM;
	for (size_t i = 0; i < opts->nr_triggers; i++) {
		struct perf_poke_trigger row, *trigger = &config->triggers[i];
		int err = config_row(config, "trigger", &row, sizeof(row), opts->triggers,
				     opts->trigger_sz, i);

		if (err)
			return err;
		trigger->kind = row.kind;
		trigger->threshold_ns = row.threshold_ns;
		config->nr_triggers++;
		if (copy_string((char **)&trigger->text, row.text))
			return -ENOMEM;
	}
	return copy_string(&config->task, opts->task);
}

static int config_strings(struct config *config, const struct perf_poke_opts *opts)
{
	if (opts->function && !*opts->function)
		return log_error(&config->log, -EINVAL,
				 "function '': not a symbol, an 0xADDRESS, or any");
	if (opts->output && !*opts->output)
		return log_error(&config->log, -EINVAL, "output '': not a folder");
	if (opts->session && !session_name_valid(opts->session))
		return log_error(&config->log, -EINVAL,
				 "session '%s': not a name (1 to 63 of A-Z a-z 0-9 . _ -, other "
				 "than . and ..)",
				 opts->session);
	if (copy_string(&config->function, opts->function) ||
	    copy_string(&config->output, opts->output ? opts->output : "perf-poke.data") ||
	    copy_string(&config->session, opts->session))
		return -ENOMEM;
	config->argv = calloc(opts->argc + 1, sizeof(*config->argv));
	if (!config->argv)
		return -ENOMEM;
	for (; opts->argv && config->argc < opts->argc; config->argc++) {
		if (copy_string(&config->argv[config->argc], opts->argv[config->argc]))
			return -ENOMEM;
	}
	return 0;
}

static int config_events(struct config *config, const struct perf_poke_opts *opts)
{
	struct perf_poke_event *events = calloc(opts->nr_events + 1, sizeof(*events));

	if (!events)
		return -ENOMEM;
	config->recording.events = events;
	for (size_t i = 0; opts->events && i < opts->nr_events; i++) {
		struct perf_poke_event row, *event = &events[config->recording.nr_events];
		int err = config_row(config, "event", &row, sizeof(row), opts->events,
				     opts->event_sz, i);

		if (err)
			return err;
		config->recording.nr_events++;
		if (!row.name)
			return log_error(&config->log, -EINVAL, "event %zu: has no name", i);
		if (copy_string((char **)&event->name, row.name) ||
		    copy_string((char **)&event->filter, row.filter))
			return -ENOMEM;
	}
	return 0;
}

static int config_target(struct config *config, const struct perf_poke_opts *opts,
			 const struct perf_poke_target *wanted)
{
	struct perf_poke_target *target = &config->targets[config->nr_targets++];

	*target = *wanted;
	target->wake = NULL;
	target->signal = wanted->signal ?: opts->signal;
	target->any_process |= opts->any_process;
	if (wanted->pid <= 0)
		return log_error(&config->log, -EINVAL, "target %d: not a process ID", wanted->pid);
	if (target->signal < 0 || target->signal > SIGRTMAX)
		return log_error(&config->log, -EINVAL, "target %d: signal %d: must be 1 to %d",
				 wanted->pid, target->signal, SIGRTMAX);
	if (!wanted->wake)
		return 0;
	/* The word goes into a filter. */
	if (!*wanted->wake || strlen(wanted->wake) > WAKE_MAX ||
	    wanted->wake[strspn(wanted->wake, WAKE_CHARACTERS)])
		return log_error(&config->log, -EINVAL,
				 "target %d: wake '%s': must be 1 to %d letters, digits, - or _",
				 wanted->pid, wanted->wake, WAKE_MAX);
	return copy_string((char **)&target->wake, wanted->wake);
}

static int config_targets(struct config *config, const struct perf_poke_opts *opts)
{
	size_t wakes = 0;

	if (opts->nr_targets > POKE_TARGETS)
		return log_error(&config->log, -EINVAL, "%zu targets: at most %d are possible",
				 opts->nr_targets, POKE_TARGETS);
	config->targets = calloc(opts->nr_targets + 1, sizeof(*config->targets));
	if (!config->targets)
		return -ENOMEM;
	for (size_t i = 0; i < opts->nr_targets; i++) {
		struct perf_poke_target row;
		int err = config_row(config, "target", &row, sizeof(row), opts->targets,
				     opts->target_sz, i);

		if (!err)
			err = config_target(config, opts, &row);
		if (err)
			return err;
		wakes += !!row.wake;
	}
	if (wakes > 1)
		return log_error(&config->log, -EINVAL, "wake: only one target can have it");
	return 0;
}

int config_init(struct config *config, const struct perf_poke_opts *opts)
{
	static int (*const steps[])(struct config * config, const struct perf_poke_opts *opts) = {
		config_cpus,	config_numbers, config_workload_opts, config_triggers,
		config_strings, config_events,	config_targets,
	};
	struct perf_poke_opts known;
	int err;

	err = sized_struct_read(&known, sizeof(known), opts, opts->sz, SIZE_MIN);
	if (err)
		return err;
	*config = (struct config){
		.log = { known.log, known.log_ctx },
		.on_capture = known.on_capture,
		.on_removed = known.on_removed,
		.capture_ctx = known.capture_ctx,
	};
	err = option_check_span(&known, &config->log);
	for (size_t i = 0; i < ARRAY_SIZE(steps) && !err; i++)
		err = steps[i](config, &known);
	config->recording.cpus = config->cpus;
	config->recording.nr_cpus = config->nr_cpus;
	config->recording.nr_targets = config->nr_targets;
	config->recording.argv = (const char *const *)config->argv;
	config->recording.argc = config->argc;
	if (err)
		config_destroy(config);
	return err;
}

bool session_name_valid(const char *name)
{
	static const char allowed[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
				      "0123456789._-";
	size_t len = strlen(name);

	return len && len <= SESSION_NAME_MAX && strspn(name, allowed) == len &&
	       strcmp(name, ".") && strcmp(name, "..");
}

bool config_is_timerlat(const struct config *config)
{
	return config->workload == PERF_POKE_WORKLOAD_TIMERLAT ||
	       config->workload == PERF_POKE_WORKLOAD_USER;
}

bool config_is_tracer(const struct config *config)
{
	return config_is_timerlat(config) || config->workload == PERF_POKE_WORKLOAD_OSNOISE;
}

void config_destroy(struct config *config)
{
	free(config->cpus);
	free(config->function);
	free(config->output);
	free(config->session);
	free(config->cgroup);
	free(config->task);
	for (size_t i = 0; i < config->nr_triggers; i++)
		free((char *)config->triggers[i].text);
	free(config->triggers);
	for (size_t i = 0; i < config->argc; i++)
		free(config->argv[i]);
	free(config->argv);
	for (size_t i = 0; i < config->recording.nr_events; i++) {
		free((char *)config->recording.events[i].name);
		free((char *)config->recording.events[i].filter);
	}
	free((void *)config->recording.events);
	for (size_t i = 0; i < config->nr_targets; i++)
		free((char *)config->targets[i].wake);
	free(config->targets);
	*config = (struct config){};
}

const char *function_name(const struct config *config)
{
	if (config->function)
		return strcmp(config->function, "any") ? config->function : NULL;
	return config_is_timerlat(config) ? TIMERLAT_FUNCTION : NULL;
}

int function_find(const struct config *config, uint64_t *address)
{
	const char *name = function_name(config);
	char *end;
	int err;

	*address = 0;
	if (!name)
		return 0;
	if (!strncmp(name, "0x", 2)) {
		errno = 0;
		*address = strtoull(name, &end, 16);
		if (*end || errno || !*address)
			return log_error(&config->log, -EINVAL,
					 "function '%s': not an address (0x...)", name);
		return 0;
	}
	err = kallsyms_find(name, address);
	if (err == -ENOENT && !config->function)
		return log_error(&config->log, err,
				 "workload %s: the kernel has no function %s (built without "
				 "CONFIG_TIMERLAT_TRACER): use --workload cyclic",
				 config->workload == PERF_POKE_WORKLOAD_USER ? "user" : "timerlat",
				 name);
	if (err == -ENOTUNIQ)
		return log_error(&config->log, -EINVAL,
				 "function '%s': several symbols have this name: use an 0xADDRESS "
				 "from /proc/kallsyms",
				 name);
	if (err)
		log_error(&config->log, err, "function '%s': %s", name, kallsyms_strerror(err));
	return err;
}
