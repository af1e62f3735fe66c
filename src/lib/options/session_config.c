// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
#include "options/config.h"

#include <inttypes.h>
#include <sched.h>
#include <signal.h>
#include <string.h>

#include "bpf/trigger.h"
#include "cpulist.h"
#include "machine/base.h"
#include "util.h"

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

static bool cpu_is_present(int cpu)
{
	char path[64];

	snprintf(path, sizeof(path), "/sys/devices/system/cpu/cpu%d", cpu);
	return !access(path, F_OK);
}

static int config_read_cpus(struct config *config)
{
	const char *list = config->opts.cpus ?: "";
	_cleanup_free_ char *online_list = NULL;
	_cleanup_free_ int *online = NULL;
	size_t nr = 0;
	int err, missing;

	if (!*list)
		return log_error(&config->log, -EINVAL,
				 "--cpu LIST is required: 3 or 2,4-7, all, isolated");
	err = cpulist_parse_words(list, &config->cpus, &config->nr_cpus);
	if (err == -ENOMEM)
		return err;
	if (err == -ERANGE)
		return log_error(&config->log, -ENXIO, "cpu '%s': must be below %d", list,
				 CPULIST_MAX_CPUS);
	if (!err && !config->nr_cpus)
		return log_error(&config->log, -ENXIO,
				 "cpu '%s': no CPU is isolated (isolcpus=, nohz_full=)", list);
	if (err)
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
			       cpu_is_present(missing) ? "is offline" : "does not exist",
			       online_list);
}

static void set_default_number(uint64_t *number, uint64_t value)
{
	*number = *number ?: value;
}

static int config_numbers(struct config *config)
{
	struct perf_poke_opts *opts = &config->opts;

	set_default_number(&opts->threshold_ns, THRESHOLD_DEFAULT_NS);
	set_default_number(&opts->period_ns, PERIOD_DEFAULT_NS);
	set_default_number(&opts->max_captures, opts->keep_worst ? UINT64_MAX : 1);
	set_default_number(&opts->keep_worst, UINT64_MAX);
	set_default_number(&opts->max_disk, UINT64_MAX);
	if (opts->period_ns < PERIOD_MIN_NS || opts->period_ns > PERIOD_MAX_NS)
		return log_error(&config->log, -EINVAL, "period %" PRIu64 " ns: must be 10us to 1s",
				 opts->period_ns);
	if (opts->priority < 0 || opts->priority > 99)
		return log_error(&config->log, -EINVAL, "priority %d: must be 1 to 99",
				 opts->priority);
	if (opts->buffer_size > BUFFER_MAX)
		return log_error(&config->log, -EINVAL,
				 "buffer %" PRIu64 ": the kernel maps at most 2G for a CPU",
				 opts->buffer_size);
	return 0;
}

static int config_scheduling(struct config *config)
{
	struct perf_poke_opts *opts = &config->opts;
	bool chosen = opts->scheduler || opts->priority;
	char fifo[32];

	opts->priority = opts->priority ?: PRIORITY_DEFAULT;
	if (!chosen)
		return 0;
	snprintf(fifo, sizeof(fifo), "f:%d", opts->priority);
	if (scheduling_parse(opts->scheduler ?: fifo, &config->sched))
		return log_error(
			&config->log, -EINVAL,
			"scheduler '%s': must be f:1 to f:99, r:1 to r:99, o:-20 to o:19, or "
			"d:RUNTIME:PERIOD",
			opts->scheduler ?: fifo);
	if (config->sched.policy == SCHED_FIFO)
		opts->priority = config->sched.priority;
	return 0;
}

/* Replaces a string of the caller by a copy. */
static int config_own_string(struct config *config, const char **text)
{
	if (!*text)
		return 0;
	*text = opts_own_text(&config->opts, *text, strlen(*text));
	return *text ? 0 : -ENOMEM;
}

static int config_strings(struct config *config)
{
	struct perf_poke_opts *opts = &config->opts;
	const char **strings[] = { &opts->function, &opts->output, &opts->session, &opts->cgroup,
				   &opts->task };
	const char **argv, **instances;
	int err = 0;

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
	opts->output = opts->output ?: "perf-poke.data";
	for (size_t i = 0; i < ARRAY_SIZE(strings) && !err; i++)
		err = config_own_string(config, strings[i]);
	opts->argc = opts->argv ? opts->argc : 0;
	argv = opts_own_memory(opts, opts->argc * sizeof(*argv));
	if (!argv)
		return -ENOMEM;
	for (size_t i = 0; i < opts->argc && !err; i++) {
		argv[i] = opts->argv[i];
		err = config_own_string(config, &argv[i]);
	}
	opts->argv = argv;
	opts->nr_stop_tracing = opts->stop_tracing ? opts->nr_stop_tracing : 0;
	instances = opts_own_memory(opts, opts->nr_stop_tracing * sizeof(*instances));
	if (!instances)
		return -ENOMEM;
	for (size_t i = 0; i < opts->nr_stop_tracing && !err; i++) {
		instances[i] = opts->stop_tracing[i];
		/* A name leads to one folder, and nowhere else. */
		if (!instances[i] || !*instances[i] || instances[i][0] == '.' ||
		    strchr(instances[i], '/'))
			return log_error(&config->log, -EINVAL,
					 "--stop-tracing '%s': not the name of a tracing instance "
					 "(top: the main one)",
					 instances[i] ?: "");
		err = config_own_string(config, &instances[i]);
	}
	opts->stop_tracing = instances;
	return err;
}

/* Replaces an array of the caller, with rows of the caller's size, by a copy. */
static int config_own_rows(struct config *config, const char *what, const void **rows, size_t nr,
			   size_t row_sz, size_t size)
{
	char *copy = opts_own_memory(&config->opts, nr * size);

	if (!copy)
		return -ENOMEM;
	if (nr && row_sz < size)
		return log_error(&config->log, -EINVAL,
				 "%s_sz %zu: must be sizeof(struct perf_poke_%s)", what, row_sz,
				 what);
	for (size_t i = 0; i < nr; i++) {
		if (sized_struct_read(copy + i * size, size, (const char *)*rows + i * row_sz,
				      row_sz, size))
			return log_error(&config->log, -EINVAL,
					 "%s_sz %zu: the library has no member that is set (struct "
					 "perf_poke_%s)",
					 what, row_sz, what);
	}
	*rows = copy;
	return 0;
}

#define OWN_ROWS(config, what, rows, nr, row_sz)                                                   \
	config_own_rows(config, what, (const void **)&(rows), nr, row_sz, sizeof(*(rows)))

static int config_triggers(struct config *config)
{
	struct perf_poke_opts *opts = &config->opts;
	int err = OWN_ROWS(config, "trigger", opts->triggers, opts->nr_triggers, opts->trigger_sz);

	for (size_t i = 0; i < opts->nr_triggers && !err; i++)
		err = config_own_string(config, (const char **)&opts->triggers[i].text);
	return err;
}

static int config_events(struct config *config)
{
	struct perf_poke_opts *opts = &config->opts;
	int err;

	opts->nr_events = opts->events ? opts->nr_events : 0;
	err = OWN_ROWS(config, "event", opts->events, opts->nr_events, opts->event_sz);
	for (size_t i = 0; i < opts->nr_events && !err; i++) {
		struct perf_poke_event *event = (struct perf_poke_event *)&opts->events[i];

		if (!event->name)
			return log_error(&config->log, -EINVAL, "event %zu: has no name", i);
		err = config_own_string(config, &event->name)
			      ?: config_own_string(config, &event->filter);
	}
	return err;
}

static int config_target(struct config *config, struct perf_poke_target *target)
{
	target->signal = target->signal ?: config->opts.signal;
	target->any_process |= config->opts.any_process;
	if (target->pid <= 0)
		return log_error(&config->log, -EINVAL, "target %d: not a process ID", target->pid);
	if (target->signal < 0 || target->signal > SIGRTMAX)
		return log_error(&config->log, -EINVAL, "target %d: signal %d: must be 1 to %d",
				 target->pid, target->signal, SIGRTMAX);
	/* The word goes into a filter. */
	if (target->wake && (!*target->wake || strlen(target->wake) > WAKE_MAX ||
			     target->wake[strspn(target->wake, WAKE_CHARACTERS)]))
		return log_error(&config->log, -EINVAL,
				 "target %d: wake '%s': must be 1 to %d letters, digits, - or _",
				 target->pid, target->wake, WAKE_MAX);
	return config_own_string(config, &target->wake);
}

static int config_targets(struct config *config)
{
	struct perf_poke_opts *opts = &config->opts;
	size_t wakes = 0;
	int err;

	if (opts->nr_targets > POKE_TARGETS)
		return log_error(&config->log, -EINVAL, "%zu targets: at most %d are possible",
				 opts->nr_targets, POKE_TARGETS);
	err = OWN_ROWS(config, "target", opts->targets, opts->nr_targets, opts->target_sz);
	for (size_t i = 0; i < opts->nr_targets && !err; i++) {
		wakes += !!opts->targets[i].wake;
		err = config_target(config, (struct perf_poke_target *)&opts->targets[i]);
	}
	if (!err && wakes > 1)
		return log_error(&config->log, -EINVAL, "wake: only one target can have it");
	return err;
}

int config_init(struct config *config, const struct perf_poke_opts *opts)
{
	static int (*const steps[])(struct config * config) = {
		config_read_cpus, config_numbers, config_scheduling, config_triggers,
		config_strings,	  config_events,  config_targets,
	};
	int err;

	*config = (struct config){};
	err = sized_struct_read(&config->opts, sizeof(config->opts), opts, opts->sz, SIZE_MIN);
	if (err)
		return err;
	config->log = (struct log){ config->opts.log, config->opts.log_ctx };
	config->workload = config->opts.workload;
	config->opts.owned = calloc(1, sizeof(struct owned_opts));
	if (!config->opts.owned)
		err = -ENOMEM;
	for (size_t i = 0; i < ARRAY_SIZE(steps) && !err; i++)
		err = steps[i](config);
	config->recording.opts = &config->opts;
	config->recording.cpus = config->cpus;
	config->recording.nr_cpus = config->nr_cpus;
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

void config_destroy(struct config *config)
{
	free(config->cpus);
	perf_poke__opts_release(&config->opts);
	*config = (struct config){};
}

const char *function_name(const struct config *config)
{
	if (config->opts.function)
		return strcmp(config->opts.function, "any") ? config->opts.function : NULL;
	return config_is_timerlat(config) ? TIMERLAT_FUNCTION : NULL;
}

int config_find_function(const struct config *config, uint64_t *address)
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
	if (err == -ENOENT && !config->opts.function)
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
