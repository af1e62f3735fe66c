// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
#include "capture/capture.h"

#include <fcntl.h>
#include <inttypes.h>
#include <string.h>
#include <sys/utsname.h>

#include <json-c/json.h>

#include "capture/span_ends.h"
#include "clock.h"
#include "options/config.h"
#include "trigger/bucket.h"
#include "trigger/kinds.h"
#include "utf8.h"

#define SCHEMA 1

/* Task names and arguments may be any bytes; JSON is UTF-8. */
static struct json_object *string_json(const char *value)
{
	_cleanup_free_ char *copy = value ? strdup(value) : NULL;

	return copy ? json_object_new_string(utf8_repair(copy)) : NULL;
}

static void put_string(struct json_object *to, const char *key, const char *value)
{
	json_object_object_add(to, key, string_json(value));
}

static void put_uint(struct json_object *to, const char *key, uint64_t value)
{
	json_object_object_add(to, key, json_object_new_uint64(value));
}

static void put_int(struct json_object *to, const char *key, int value)
{
	json_object_object_add(to, key, json_object_new_int(value));
}

static void put_bool(struct json_object *to, const char *key, bool value)
{
	json_object_object_add(to, key, json_object_new_boolean(value));
}

/* Many readers parse JSON numbers as doubles, which would round addresses. */
static void put_address(struct json_object *to, const char *key, uint64_t value)
{
	char text[32];

	snprintf(text, sizeof(text), "0x%" PRIx64, value);
	put_string(to, key, text);
}

static void put_wall_time(struct json_object *to, const char *key, uint64_t time_ns)
{
	char text[CLOCK_UTC_SIZE];

	clock_format_utc(text, clock_wall_ns(time_ns));
	put_string(to, key, text);
}

/* UINT64_MAX: unknown */
static void put_known(struct json_object *to, const char *key, uint64_t value)
{
	json_object_object_add(to, key, value == UINT64_MAX ? NULL : json_object_new_uint64(value));
}

/* 0: unknown */
static void put_latency(struct json_object *to, const char *key, uint64_t value)
{
	json_object_object_add(to, key, value ? json_object_new_uint64(value) : NULL);
}

static struct json_object *noise_json(const struct perf_poke_spike *spike)
{
	struct json_object *json;

	if (!spike->has_noise)
		return NULL;
	json = json_object_new_object();
	put_uint(json, "irq_ns", spike->noise_irq_ns);
	put_uint(json, "softirq_ns", spike->noise_softirq_ns);
	put_uint(json, "thread_ns", spike->noise_thread_ns);
	put_uint(json, "nmi_ns", spike->noise_nmi_ns);
	if (spike->kind == PERF_POKE_TRIGGER_NOISE)
		put_uint(json, "most_ns", spike->noise_most_ns);
	return json;
}

static void put_build_id(struct json_object *to, const struct perf_poke_frame *frame)
{
	char text[2 * sizeof(frame->build_id) + 1] = "";

	for (size_t i = 0; i < frame->build_id_size; i++)
		snprintf(text + 2 * i, 3, "%02x", frame->build_id[i]);
	put_string(to, "build_id", frame->build_id_size ? text : NULL);
}

static struct json_object *frame_json(const struct perf_poke_frame *frame)
{
	struct json_object *json = json_object_new_object();

	put_address(json, "address", frame->address);
	if (frame->user) {
		put_string(json, "file", frame->file);
		put_build_id(json, frame);
	} else {
		put_string(json, "symbol", frame->symbol);
		put_string(json, "module", frame->file);
	}
	json_object_object_add(json, "offset",
			       frame->symbol || frame->file || frame->build_id_size
				       ? json_object_new_uint64(frame->offset)
				       : NULL);
	put_bool(json, "user", frame->user);
	return json;
}

static struct json_object *stack_json(const struct perf_poke_frame *const *stack, size_t nr)
{
	struct json_object *json;

	if (!nr)
		return NULL;
	json = json_object_new_array();
	for (size_t i = 0; i < nr; i++)
		json_object_array_add(json, frame_json(stack[i]));
	return json;
}

/* The task that ran when the timer of a late thread expired. */
static struct json_object *holder_json(const struct perf_poke_spike *spike)
{
	struct json_object *json;

	if (!spike->nr_holder_frames)
		return NULL;
	json = json_object_new_object();
	put_int(json, "pid", spike->holder_pid);
	put_int(json, "tid", spike->holder_tid);
	put_bool(json, "interrupted", spike->holder_interrupted);
	json_object_object_add(json, "stack", stack_json(spike->holder, spike->nr_holder_frames));
	return json;
}

static const char *const policies[] = {
	"other", "fifo", "rr", "batch", NULL, "idle", "deadline", "ext",
};

/* NULL: from a later kernel */
static const char *policy_name(int policy)
{
	return (size_t)policy < ARRAY_SIZE(policies) ? policies[policy] : NULL;
}

int capture_json_policy(const char *name)
{
	for (size_t i = 0; i < ARRAY_SIZE(policies); i++) {
		if (policies[i] && !strcmp(policies[i], name))
			return (int)i;
	}
	return -1;
}

/* The scheduling of the interrupted task. */
static void put_scheduling(struct json_object *to, const struct perf_poke_spike *spike)
{
	if (spike->policy < 0 || spike->idle)
		return;
	put_string(to, "policy", policy_name(spike->policy));
	put_int(to, "priority", spike->rt_priority);
	put_int(to, "nice", spike->nice);
}

static struct json_object *spike_json(const struct perf_poke_spike *spike)
{
	struct json_object *json = json_object_new_object();

	put_uint(json, "sequence", spike->sequence);
	put_int(json, "cpu", spike->cpu);
	put_int(json, "ran_cpu", spike->ran_cpu);
	put_bool(json, "ran_watched", spike->ran_watched);
	put_uint(json, "latency_ns", spike->latency_ns);
	put_uint(json, "time_ns", spike->time_ns);
	put_uint(json, "expected_ns", spike->expected_ns);
	put_uint(json, "actual_ns", spike->actual_ns);
	put_wall_time(json, "wall_time", spike->time_ns);
	put_string(json, "function", spike->function_name);
	put_address(json, "function_address", spike->function);
	put_address(json, "timer_address", spike->timer);
	put_int(json, "pid", spike->pid);
	put_int(json, "tid", spike->tid);
	put_string(json, "comm", spike->comm);
	put_scheduling(json, spike);
	put_bool(json, "idle", spike->idle);
	put_bool(json, "poked", spike->poked);
	put_bool(json, "rtla", spike->rtla);
	put_string(json, "trigger", spike->poked ? NULL : trigger_kind_name(spike->kind));
	put_string(json, "label", spike->label[0] ? spike->label : NULL);
	put_latency(json, "irq_ns", spike->irq_ns);
	put_latency(json, "thread_ns", spike->thread_ns);
	put_latency(json, "user_ns", spike->user_ns);
	json_object_object_add(json, "noise", noise_json(spike));
	json_object_object_add(json, "irqs_off",
			       spike->irqs_off < 0 ? NULL
						   : json_object_new_boolean(spike->irqs_off));
	put_int(json, "stack_pid", spike->stack_pid);
	put_int(json, "stack_tid", spike->stack_tid);
	json_object_object_add(json, "stack", stack_json(spike->stack, spike->nr_frames));
	json_object_object_add(json, "holder", holder_json(spike));
	return json;
}

/* rtla's threshold is unknown; kinds with a text have none. */
static uint64_t threshold_ns(const struct config *config, const struct perf_poke_spike *spike)
{
	if (spike->rtla || trigger_row(spike->kind)->choice.argument)
		return 0;
	return spike->threshold_ns ? spike->threshold_ns : config->threshold_ns;
}

static struct json_object *trigger_json(const struct config *config,
					const struct perf_poke_spike *spike)
{
	struct json_object *json = json_object_new_object();
	struct json_object *cpus = json_object_new_array();
	struct json_object *thresholds = json_object_new_object();

	put_string(json, "kind", trigger_kind_name(spike->kind));
	put_latency(json, "threshold_ns", threshold_ns(config, spike));
	put_string(json, "function", function_name(config) ? function_name(config) : "any");
	for (size_t i = 0; i < config->nr_cpus; i++)
		json_object_array_add(cpus, json_object_new_int(config->cpus[i]));
	json_object_object_add(json, "cpus", cpus);
	for (int kind = 0; kind < TRIGGER_KINDS; kind++) {
		if (config->thresholds[kind])
			put_uint(thresholds, trigger_kind_name(kind), config->thresholds[kind]);
	}
	json_object_object_add(json, "thresholds_ns", thresholds);
	if (config->task)
		put_string(json, "task", config->task);
	for (int kind = 0; kind < TRIGGER_KINDS; kind++) {
		if (config->texts[kind])
			put_string(json, trigger_kind_name(kind), config->texts[kind]);
	}
	if (spike->kind == PERF_POKE_TRIGGER_SPAN)
		json_object_object_add(json, "ends",
				       span_ends_json(config->texts[PERF_POKE_TRIGGER_SPAN]));
	return json;
}

static struct json_object *workload_json(const struct capture_env *env)
{
	const struct config *config = env->config;
	struct json_object *json = json_object_new_object();

	put_string(json, "kind", env->workload);
	if (config->workload != PERF_POKE_WORKLOAD_NONE &&
	    config->workload != PERF_POKE_WORKLOAD_OSNOISE) {
		put_uint(json, "period_ns", config->period_ns);
		put_int(json, "priority", config->priority);
	}
	return json;
}

/* Processor name from /proc/cpuinfo; not on all architectures. */
static void put_cpu_model(struct json_object *to)
{
	_cleanup_fclose_ FILE *file = fopen("/proc/cpuinfo", "re");
	_cleanup_free_ char *line = NULL;
	size_t size = 0;

	while (file && getline(&line, &size, file) > 0) {
		char *value = strchr(line, ':');

		if (strncmp(line, "model name", 10) || !value)
			continue;
		value[strcspn(value, "\n")] = '\0';
		put_string(to, "cpu", value + 1 + strspn(value + 1, " \t"));
		return;
	}
}

static void put_system(struct json_object *json)
{
	struct json_object *kernel = json_object_new_object();
	struct json_object *machine = json_object_new_object();
	struct utsname names;

	uname(&names);
	put_string(kernel, "release", names.release);
	put_string(kernel, "version", names.version);
	put_string(machine, "hostname", names.nodename);
	put_string(machine, "arch", names.machine);
	put_cpu_model(machine);
	put_int(machine, "cpus_online", sysconf(_SC_NPROCESSORS_ONLN));
	json_object_object_add(json, "kernel", kernel);
	json_object_object_add(json, "machine", machine);
}

/* Other recorders than Intel PT have no trace bytes. */
static void put_trace(struct json_object *json, const struct snapshot_facts *facts)
{
	if (!facts->trace_bytes)
		return;
	put_known(json, "bytes_after_spike", facts->bytes_after_spike);
	put_bool(json, "bytes_after_spike_exact", facts->bytes_after_spike_exact);
}

/* Rows of [low_ns, high_ns, count], many, so all on one line. */
static struct json_object *histogram_json(const uint64_t *buckets)
{
	struct json_object *json = json_object_new_array();
	_cleanup_free_ char *text = NULL;
	const char *separator = "";
	size_t size;
	FILE *file = open_memstream(&text, &size);

	if (!file)
		return json;
	fputc('[', file);
	for (unsigned int i = 0; i < STATS_BUCKETS; i++) {
		if (!buckets[i])
			continue;
		fprintf(file, "%s[%" PRIu64 ",", separator, bucket_low_ns(i * STATS_STEP));
		if (i + 1 < STATS_BUCKETS)
			fprintf(file, "%" PRIu64, bucket_low_ns((i + 1) * STATS_STEP));
		else
			fputs("null", file);
		fprintf(file, ",%" PRIu64 "]", buckets[i]);
		separator = ",";
	}
	fputc(']', file);
	if (!fclose(file))
		json_object_set_serializer(json, json_object_userdata_to_json_string,
					   TAKE_PTR(text), json_object_free_userdata);
	return json;
}

static struct json_object *statistics_json(const struct capture *capture)
{
	const struct stats_snapshot *stats = &capture->stats;
	struct json_object *json;

	if (!stats->sum.count)
		return NULL;
	json = json_object_new_object();
	json_object_object_add(json, "cpu",
			       capture->spike.cpu < 0 ? NULL
						      : json_object_new_int(capture->spike.cpu));
	put_uint(json, "count", stats->sum.count);
	put_uint(json, "min_ns", stats->sum.min_ns);
	put_uint(json, "avg_ns", stats->sum.sum_ns / stats->sum.count);
	put_uint(json, "p50_ns", stats->p50_ns);
	put_uint(json, "p99_ns", stats->p99_ns);
	put_uint(json, "p99_9_ns", stats->p99_9_ns);
	put_uint(json, "max_ns", stats->sum.max_ns);
	put_uint(json, "spikes", stats->sum.spikes);
	put_uint(json, "unarmed", stats->sum.unarmed);
	json_object_object_add(json, "histogram", histogram_json(stats->buckets));
	return json;
}

static struct json_object *capture_json(const struct capture_env *env,
					const struct capture *capture)
{
	struct json_object *json = json_object_new_object();
	struct json_object *recorder = json_object_new_object();
	struct json_object *argv = json_object_new_array();

	put_int(json, "schema", SCHEMA);
	put_string(json, "version", perf_poke__version());
	if (capture->control)
		put_bool(json, "control", true);
	json_object_object_add(json, "spike", spike_json(&capture->spike));
	put_latency(json, "threshold_ns", threshold_ns(env->config, &capture->spike));
	put_latency(json, "floor_ns", capture->floor_ns);
	put_uint(json, "skid_ns", capture->still_ns - capture->spike.time_ns);
	put_uint(json, "blind_ns", capture->armed_ns - capture->spike.time_ns);
	put_known(json, "history_ns", capture_history_ns(capture));
	put_uint(json, "events", capture->facts.events);
	put_uint(json, "lost", capture->facts.lost);
	put_trace(json, &capture->facts);
	json_object_object_add(json, "trigger", trigger_json(env->config, &capture->spike));
	json_object_object_add(json, "statistics", statistics_json(capture));
	json_object_object_add(json, "workload", workload_json(env));
	put_string(recorder, "kind", env->recorder->ops->choice.name);
	recorder_describe(env->recorder, capture->snapshot, recorder);
	json_object_object_add(json, "recorder", recorder);
	if (env->poke) {
		struct json_object *poke = json_object_new_object();

		poke_describe(env->poke, capture->spike.sequence, poke);
		json_object_object_add(json, "poke", poke);
	}
	json_object_object_add(json, "hardware",
			       hardware_json(&capture->hardware, capture->spike.cpu));
	put_system(json);
	for (size_t i = 0; i < env->config->argc; i++)
		json_object_array_add(argv, string_json(env->config->argv[i]));
	json_object_object_add(json, "command_line", argv);
	return json;
}

int capture_json_write(const struct capture_env *env, const struct capture *capture, int dirfd)
{
	struct json_object *json = capture_json(env, capture);
	_cleanup_close_ int fd = -1;
	int err = 0;

	fd = openat(dirfd, "capture.json", O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
	if (fd < 0)
		err = -errno;
	else if (json_object_to_fd(fd, json,
				   JSON_C_TO_STRING_PRETTY | JSON_C_TO_STRING_NOSLASHESCAPE))
		err = errno ? -errno : -EIO;
	else if (write(fd, "\n", 1) != 1)
		err = errno ? -errno : -ENOSPC;
	/* Some file systems report a full disk only here. */
	else if (close(TAKE_FD(fd)))
		err = -errno;
	json_object_put(json);
	return err;
}
