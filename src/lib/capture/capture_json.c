// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
#include "capture/capture_internal.h"

#include <endian.h>
#include <fcntl.h>
#include <inttypes.h>
#include <string.h>
#include <sys/utsname.h>

#include <json-c/json.h>

#include "arch.h"
#include "clock.h"
#include "cpuinfo.h"
#include "json_util.h"
#include "task.h"
#include "text.h"
#include "trigger/trigger.h"

#define NAME_MAX_SIZE 256

static void json_add_function(struct json_object *list, const char *prefix, const char *name)
{
	char text[NAME_MAX_SIZE];

	snprintf(text, sizeof(text), "%s%s", prefix, name);
	json_object_array_add(list, json_object_new_string(text));
}

static struct json_object *span_end_json(const struct span_point *point, bool is_exit)
{
	/* A tracepoint calls one of these functions, depending on what else is attached; that of a
	 * system call is in the call's function. */
	static const char *const prefixes[] = { "__traceiter_", "__bpf_trace_", "perf_trace_",
						"trace_event_raw_event_" };
	struct json_object *json = json_object_new_object();
	struct json_object *list = json_object_new_array();
	bool at_return = point->kind == SPAN_URETPROBE || (point->kind == SPAN_FN && is_exit);
	const char *name = point->parts[1];
	char event[NAME_MAX_SIZE], symbol[NAME_MAX_SIZE], *plus;

	switch (point->kind) {
	case SPAN_TP:
		at_return = !strcmp(point->parts[0], "syscalls") && has_prefix(name, "sys_exit_");
		if (at_return)
			json_add_function(list, arch_here()->syscall_prefix,
					  name + strlen("sys_exit_"));
		else if (!strcmp(point->parts[0], "syscalls") && has_prefix(name, "sys_enter_"))
			json_add_function(list, arch_here()->syscall_prefix,
					  name + strlen("sys_enter_"));
		else
			for (size_t i = 0; i < ARRAY_SIZE(prefixes); i++)
				json_add_function(list, prefixes[i], name);
		snprintf(event, sizeof(event), "%s:%s", point->parts[0], point->parts[1]);
		json_object_object_add(json, "event", json_object_new_string(event));
		break;
	case SPAN_FN:
		json_add_function(list, "", point->parts[0]);
		break;
	case SPAN_UPROBE:
	case SPAN_URETPROBE:
		/* Without the offset of SYMBOL+OFFSET; an address names no function. */
		snprintf(symbol, sizeof(symbol), "%s", name);
		plus = strrchr(symbol, '+');
		if (plus && plus[1] >= '0' && plus[1] <= '9')
			*plus = '\0';
		if (*symbol < '0' || *symbol > '9')
			json_add_function(list, "", symbol);
		break;
	case SPAN_USDT:
	case SPAN_KINDS:
		break;
	}
	json_object_object_add(json, "functions", list);
	json_object_object_add(json, "at", json_object_new_string(at_return ? "return" : "call"));
	return json;
}

struct json_object *span_ends_json(const char *text)
{
	static const char *const by[] = {
		[SPAN_BY_THREAD] = "thread",
		[SPAN_BY_CPU] = "cpu",
		[SPAN_BY_ARGUMENT] = "argument",
	};
	_cleanup_(span_destroy) struct span span = {};
	const struct log quiet = {};
	struct json_object *json;

	if (!text || span_parse_text(&span, text, &quiet))
		return NULL;
	json = json_object_new_object();
	json_object_object_add(json, "by", json_object_new_string(by[span.by]));
	json_object_object_add(json, "entry", span_end_json(&span.entry, false));
	json_object_object_add(json, "exit", span_end_json(&span.exit, true));
	return json;
}

struct perf_poke_capture capture_to_public(const struct capture_env *env,
					   const struct capture *capture)
{
	const struct snapshot_facts *facts = &capture->facts;
	uint64_t time_ns = capture->spike.time_ns;

	return (struct perf_poke_capture){
		.sz = sizeof(struct perf_poke_capture),
		.error = capture->error,
		.path = capture->path,
		.spike = &capture->spike,
		.wall_ns = clock_wall_ns(time_ns),
		.recorder = env->recorder->ops->choice.name,
		.skid_ns = (facts->still_ns ?: capture->still_ns) - time_ns,
		.blind_ns = capture->armed_ns - time_ns,
		.history_ns = !facts->oldest_ns		   ? UINT64_MAX
			      : facts->oldest_ns < time_ns ? time_ns - facts->oldest_ns
							   : 0,
		.events = facts->events,
		.lost = facts->lost,
		.size = facts->size,
		.trace_bytes = facts->trace_bytes,
		.floor_ns = capture->floor_ns,
	};
}

static struct json_object *trigger_json(const struct config *config,
					const struct perf_poke_spike *spike)
{
	struct json_object *json = json_object_new_object();
	struct json_object *cpus = json_object_new_array();
	struct json_object *thresholds = json_object_new_object();

	json_add_text(json, "kind", trigger_kind_name(spike->kind));
	json_add_known(json, "threshold_ns", spike->threshold_ns, 0);
	json_add_text(json, "function", function_name(config) ? function_name(config) : "any");
	for (size_t i = 0; i < config->nr_cpus; i++)
		json_object_array_add(cpus, json_object_new_int(config->cpus[i]));
	json_add(json, "cpus", cpus);
	for (int kind = 0; kind < TRIGGER_KINDS; kind++) {
		if (config->thresholds[kind])
			json_add_u64(thresholds, trigger_kind_name(kind), config->thresholds[kind]);
	}
	json_add(json, "thresholds_ns", thresholds);
	if (config->opts.task)
		json_add_text(json, "task", config->opts.task);
	for (int kind = 0; kind < TRIGGER_KINDS; kind++) {
		if (config->texts[kind])
			json_add_text(json, trigger_kind_name(kind), config->texts[kind]);
	}
	return json;
}

/* Not on all architectures is it known whether a hypervisor says that it is one. */
static void json_add_processor(struct json_object *machine, int root_fd)
{
	char entry[CPUINFO_SIZE], text[CPUINFO_SIZE];

	if (cpuinfo_read(root_fd, entry))
		return;
	if (cpuinfo_describe(entry, text, sizeof(text)))
		json_add_text(machine, "cpu", text);
	if (cpuinfo_find(entry, "flags", text, sizeof(text)))
		json_add_bool(machine, "hypervisor", !!strstr(text, " hypervisor"));
}

/* The kernel and the machine. */
static void json_add_system(struct json_object *json, int root_fd)
{
	struct json_object *kernel = json_object_new_object();
	struct json_object *machine = json_object_new_object();
	struct utsname names;

	uname(&names);
	json_add_text(kernel, "release", names.release);
	json_add_text(kernel, "version", names.version);
	json_add_text(machine, "hostname", names.nodename);
	json_add_text(machine, "arch", names.machine);
	/* Of the files of the capture: see capture_file.c. */
	json_add_text(machine, "byte_order", BYTE_ORDER == LITTLE_ENDIAN ? "little" : "big");
	json_add_int(machine, "word_bits", 8 * sizeof(long));
	json_add_processor(machine, root_fd);
	json_add_int(machine, "cpus_online", sysconf(_SC_NPROCESSORS_ONLN));
	json_add(json, "kernel", kernel);
	json_add(json, "machine", machine);
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
	json_add(json, "cpu",
		 capture->spike.cpu < 0 ? NULL : json_object_new_int(capture->spike.cpu));
	json_add_u64(json, "count", stats->sum.count);
	json_add_u64(json, "min_ns", stats->sum.min_ns);
	json_add_u64(json, "avg_ns", stats->sum.sum_ns / stats->sum.count);
	json_add_u64(json, "p50_ns", stats->p50_ns);
	json_add_u64(json, "p99_ns", stats->p99_ns);
	json_add_u64(json, "p99_9_ns", stats->p99_9_ns);
	json_add_u64(json, "max_ns", stats->sum.max_ns);
	json_add_u64(json, "spikes", stats->sum.spikes);
	json_add_u64(json, "unarmed", stats->sum.unarmed);
	json_add(json, "histogram", histogram_json(stats->buckets));
	return json;
}

int capture_json_write(const struct capture_env *env, const struct capture *capture, int dirfd)
{
	_cleanup_close_ int root_fd = open("/", O_PATH | O_DIRECTORY | O_CLOEXEC), fd = -1;
	const struct perf_poke_capture told = capture_to_public(env, capture);
	const struct config *config = env->config;
	struct json_object *json = json_object_new_object();
	struct json_object *trigger = trigger_json(config, &capture->spike);
	struct json_object *workload = json_object_new_object();
	struct json_object *recorder = json_object_new_object();
	struct json_object *argv = json_object_new_array();
	int err = 0;

	json_add_int(json, "schema", CAPTURE_SCHEMA);
	json_add_text(json, "version", perf_poke__version());
	capture_fields_write(json, &told);
	if (capture->spike.kind == PERF_POKE_TRIGGER_SPAN)
		json_add(trigger, "ends", span_ends_json(config->texts[PERF_POKE_TRIGGER_SPAN]));
	json_add(json, "trigger", trigger);
	if (capture->user)
		json_add(json, "user_stack", json_object_get(capture->user));
	json_add(json, "statistics", statistics_json(capture));
	json_add_text(workload, "kind", env->workload);
	if (config->workload != PERF_POKE_WORKLOAD_NONE &&
	    config->workload != PERF_POKE_WORKLOAD_OSNOISE) {
		json_add_u64(workload, "period_ns", config->opts.period_ns);
		json_add_int(workload, "priority", config->opts.priority);
	}
	json_add(json, "workload", workload);
	json_add_text(recorder, "kind", env->recorder->ops->choice.name);
	recorder_describe(env->recorder, capture->snapshot, recorder);
	json_add(json, "recorder", recorder);
	if (env->poke) {
		struct json_object *poke = json_object_new_object();

		poke_describe(env->poke, capture->spike.sequence, poke);
		json_add(json, "poke", poke);
	}
	json_add(json, "hardware", hardware_json(&capture->hardware, capture->spike.cpu));
	json_add(json, "scheduling",
		 scheduling_json(root_fd, pids_are_global() ? capture->spike.late_tid : 0));
	json_add_system(json, root_fd);
	for (size_t i = 0; i < config->opts.argc; i++)
		json_push_text(argv, config->opts.argv[i]);
	json_add(json, "command_line", argv);

	errno = 0; /* a short write does not set it */
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
