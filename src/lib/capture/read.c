// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
/* Reads captures from disk. They are not trusted: values are checked and bounded. */
#include <dirent.h>
#include <fcntl.h>
#include <inttypes.h>
#include <string.h>

#include "base/log.h"
#include "bpf/trigger.h"
#include "capture/capture.h"
#include "cpulist.h"
#include "json_file.h"
#include "strfmt.h"
#include "tree.h"

#define SCHEMA 1
#define FILE_NAME "capture.json"
#define FRAMES_MAX (TRIGGER_KERNEL_FRAMES + TRIGGER_USER_FRAMES)

/* `told` is returned to the caller; its strings belong to `json`. */
struct saved {
	struct perf_poke_capture told;
	struct perf_poke_spike spike;
	struct saved_stack {
		struct perf_poke_frame frames[FRAMES_MAX];
		const struct perf_poke_frame *rows[FRAMES_MAX];
		size_t nr;
	} stack, holder;
	struct perf_poke_bucket *buckets;
	json_object *json;
	char *path;
};

static void saved_free(struct saved *saved)
{
	if (!saved)
		return;
	json_object_put(saved->json);
	free(saved->buckets);
	free(saved->path);
	free(saved);
}

static void saved_freep(struct saved **saved)
{
	saved_free(*saved);
}

/* NULL if missing or empty. */
static const char *name_of(json_object *json, const char *path)
{
	const char *text = json_text_of(json, path);

	return *text ? text : NULL;
}

/* An address is a string such as 0xffffffff81000000. */
static uint64_t address_of(json_object *json, const char *path)
{
	const char *text = json_text_of(json, path);

	return strncmp(text, "0x", 2) ? 0 : strtoull(text, NULL, 16);
}

static int read_kind(json_object *json, struct perf_poke_spike *spike, char **why)
{
	const char *name = json_text_of(json, "spike.trigger"), *known;

	if (!*name && json_find(json, "spike.trigger"))
		return say_why(why, -EINVAL, "spike.trigger is not a string");
	for (int kind = 0; *name; kind++) {
		known = perf_poke__name(PERF_POKE_AXIS_TRIGGER, kind);
		if (!known)
			return say_why(why, -ENOTSUP,
				       "spike.trigger '%.32s' is unknown to this version", name);
		spike->kind = (enum perf_poke_trigger_kind)kind;
		if (!strcmp(name, known))
			break;
	}
	return 0;
}

static int read_cpu(json_object *value, const char *path, int *cpu, char **why)
{
	if (!json_object_is_type(value, json_type_int))
		return say_why(why, -EINVAL, "%s is missing or not a number", path);
	*cpu = json_object_get_int(value);
	return *cpu >= -1 && *cpu < CPULIST_MAX_CPUS
		       ? 0
		       : say_why(why, -EINVAL, "%s %d: no such CPU", path, *cpu);
}

/* Earlier versions recorded only interrupts, which run on the CPU of their timer. */
static int read_cpus(json_object *json, struct perf_poke_spike *spike, char **why)
{
	json_object *ran = json_find(json, "spike.ran_cpu");
	int r = read_cpu(json_find(json, "spike.cpu"), "spike.cpu", &spike->cpu, why);

	spike->ran_cpu = spike->cpu;
	return r || !ran ? r : read_cpu(ran, "spike.ran_cpu", &spike->ran_cpu, why);
}

static void read_build_id(const char *text, struct perf_poke_frame *frame)
{
	unsigned int byte;

	while (frame->build_id_size < sizeof(frame->build_id) && sscanf(text, "%2x", &byte) == 1) {
		frame->build_id[frame->build_id_size++] = (uint8_t)byte;
		text += text[1] ? 2 : 1;
	}
}

static bool read_frame(json_object *row, struct perf_poke_frame *frame)
{
	json_object *user = json_object_is_type(row, json_type_object)
				    ? json_find_typed(row, "user", json_type_boolean)
				    : NULL;

	frame->address = address_of(row, "address");
	frame->user = json_object_get_boolean(user);
	frame->symbol = name_of(row, "symbol");
	frame->file = name_of(row, frame->user ? "file" : "module");
	if (!json_number(json_find(row, "offset"), &frame->offset))
		frame->offset = 0;
	read_build_id(json_text_of(row, "build_id"), frame);
	return user;
}

/* *list is NULL if missing or null. */
static int find_list(json_object *json, const char *path, json_object **list, char **why)
{
	*list = json_find(json, path);
	return !*list || json_object_is_type(*list, json_type_array)
		       ? 0
		       : say_why(why, -EINVAL, "%s is not a list", path);
}

static int read_stack(json_object *json, const char *path, struct saved_stack *stack, char **why)
{
	json_object *list;
	int r = find_list(json, path, &list, why);
	size_t nr = r || !list ? 0 : json_object_array_length(list);

	for (; stack->nr < nr && stack->nr < FRAMES_MAX; stack->nr++) {
		struct perf_poke_frame *frame = &stack->frames[stack->nr];

		if (!read_frame(json_object_array_get_idx(list, stack->nr), frame))
			return say_why(why, -EINVAL, "%s: row %zu is not a frame", path, stack->nr);
		stack->rows[stack->nr] = frame;
	}
	return r;
}

static int read_stacks(json_object *json, struct saved *saved, char **why)
{
	struct perf_poke_spike *spike = &saved->spike;
	int r = read_stack(json, "spike.stack", &saved->stack, why);

	if (!r)
		r = read_stack(json, "spike.holder.stack", &saved->holder, why);
	spike->stack = saved->stack.nr ? saved->stack.rows : NULL;
	spike->nr_frames = saved->stack.nr;
	spike->holder = saved->holder.nr ? saved->holder.rows : NULL;
	spike->nr_holder_frames = saved->holder.nr;
	return r;
}

static int read_spike(json_object *json, struct perf_poke_spike *spike, char **why)
{
	const struct json_field fields[] = {
		{ "spike.sequence", JSON_NUMBER, &spike->sequence },
		{ "spike.time_ns", JSON_NUMBER, &spike->time_ns, .required = true },
		{ "spike.latency_ns", JSON_NUMBER, &spike->latency_ns },
		{ "spike.expected_ns", JSON_NUMBER, &spike->expected_ns },
		{ "spike.actual_ns", JSON_NUMBER, &spike->actual_ns },
		{ "spike.irq_ns", JSON_NUMBER, &spike->irq_ns },
		{ "spike.thread_ns", JSON_NUMBER, &spike->thread_ns },
		{ "spike.user_ns", JSON_NUMBER, &spike->user_ns },
		{ "spike.noise.irq_ns", JSON_NUMBER, &spike->noise_irq_ns },
		{ "spike.noise.softirq_ns", JSON_NUMBER, &spike->noise_softirq_ns },
		{ "spike.noise.thread_ns", JSON_NUMBER, &spike->noise_thread_ns },
		{ "spike.noise.nmi_ns", JSON_NUMBER, &spike->noise_nmi_ns },
		{ "spike.noise.most_ns", JSON_NUMBER, &spike->noise_most_ns },
		{ "threshold_ns", JSON_NUMBER, &spike->threshold_ns },
		{ "spike.pid", JSON_TASK, &spike->pid },
		{ "spike.tid", JSON_TASK, &spike->tid },
		{ "spike.stack_pid", JSON_TASK, &spike->stack_pid },
		{ "spike.stack_tid", JSON_TASK, &spike->stack_tid },
		{ "spike.holder.pid", JSON_TASK, &spike->holder_pid },
		{ "spike.holder.tid", JSON_TASK, &spike->holder_tid },
		{ "spike.holder.interrupted", JSON_FLAG, &spike->holder_interrupted },
		{ "spike.idle", JSON_FLAG, &spike->idle },
		{ "spike.poked", JSON_FLAG, &spike->poked },
		{ "spike.rtla", JSON_FLAG, &spike->rtla },
		{ "spike.ran_watched", JSON_FLAG, &spike->ran_watched },
		{ "spike.comm", JSON_TEXT, spike->comm, sizeof(spike->comm) },
		{ "spike.label", JSON_TEXT, spike->label, sizeof(spike->label) },
	};
	json_object *irqs_off = json_find_typed(json, "spike.irqs_off", json_type_boolean);
	json_object *nice = json_find_typed(json, "spike.nice", json_type_int);
	int r = json_read_fields(json, fields, ARRAY_SIZE(fields), why);

	spike->has_noise = json_find(json, "spike.noise");
	spike->function = address_of(json, "spike.function_address");
	spike->timer = address_of(json, "spike.timer_address");
	spike->function_name = name_of(json, "spike.function");
	spike->irqs_off = irqs_off ? json_object_get_boolean(irqs_off) : -1;
	spike->policy = capture_json_policy(json_text_of(json, "spike.policy"));
	spike->rt_priority = json_object_get_int(json_find(json, "spike.priority"));
	spike->nice = nice ? json_object_get_int(nice) : 0;
	if (!r)
		r = read_cpus(json, spike, why);
	return r ? r : read_kind(json, spike, why);
}

static int read_facts(json_object *json, struct perf_poke_capture *told, char **why)
{
	const struct json_field fields[] = {
		{ "skid_ns", JSON_NUMBER, &told->skid_ns },
		{ "blind_ns", JSON_NUMBER, &told->blind_ns },
		{ "history_ns", JSON_NUMBER, &told->history_ns },
		{ "events", JSON_NUMBER, &told->events },
		{ "lost", JSON_NUMBER, &told->lost },
		{ "bytes_after_spike", JSON_NUMBER, &told->bytes_after_spike },
		{ "bytes_after_spike_exact", JSON_FLAG, &told->bytes_after_spike_exact },
		{ "control", JSON_FLAG, &told->control },
	};

	/* null or missing */
	told->history_ns = told->bytes_after_spike = UINT64_MAX;
	told->recorder = name_of(json, "recorder.kind");
	told->kernel = name_of(json, "kernel.release");
	told->hostname = name_of(json, "machine.hostname");
	if (!told->recorder)
		return say_why(why, -EINVAL, "recorder.kind is missing or not a string");
	return json_read_fields(json, fields, ARRAY_SIZE(fields), why)
		       ?: json_read_date(json, "spike.wall_time", &told->wall_ns, why);
}

static bool read_bucket(json_object *row, uint64_t after, struct perf_poke_bucket *bucket)
{
	json_object *high;

	if (!json_object_is_type(row, json_type_array) || json_object_array_length(row) != 3)
		return false;
	high = json_object_array_get_idx(row, 1);
	bucket->high_ns = UINT64_MAX;
	return json_number(json_object_array_get_idx(row, 0), &bucket->low_ns) &&
	       (!high || json_number(high, &bucket->high_ns)) &&
	       json_number(json_object_array_get_idx(row, 2), &bucket->count) &&
	       bucket->low_ns >= after && bucket->low_ns < bucket->high_ns;
}

/* Captures of earlier versions have no statistics. The rows are copied to an array: JSON objects
 * would dominate the size of a list of captures. */
static int read_buckets(json_object *json, struct saved *saved, char **why)
{
	static const char path[] = "statistics.histogram";
	json_object *list;
	int r = find_list(json, path, &list, why);
	size_t nr = r || !list ? 0 : json_object_array_length(list);
	uint64_t after = 0;

	if (!nr)
		return r;
	saved->told.buckets = saved->buckets = calloc(nr, sizeof(*saved->buckets));
	if (!saved->buckets)
		return -ENOMEM;
	for (size_t i = 0; i < nr; i++) {
		if (!read_bucket(json_object_array_get_idx(list, i), after, &saved->buckets[i]))
			return say_why(why, -EINVAL,
				       "%s: row %zu is not [LOW, HIGH, COUNT] in ascending order",
				       path, i);
		after = saved->buckets[i].high_ns;
	}
	saved->told.nr_buckets = nr;
	json_object_object_del(json_find(json, "statistics"), "histogram");
	return 0;
}

/* Set saved->json before. */
static int read_all(struct saved *saved, char **why)
{
	json_object *json = saved->json;
	json_object *schema = json_find_typed(json, "schema", json_type_int);
	int r;

	if (!schema)
		return say_why(why, -EINVAL, "schema is missing or not a number");
	if (json_object_get_int(schema) != SCHEMA)
		return say_why(why, -EINVAL, "schema %d: this version reads %d",
			       json_object_get_int(schema), SCHEMA);
	saved->spike.sz = sizeof(saved->spike);
	saved->told.sz = sizeof(saved->told);
	saved->told.spike = &saved->spike;
	r = read_spike(json, &saved->spike, why);
	if (!r)
		r = read_stacks(json, saved, why);
	if (!r)
		r = read_buckets(json, saved, why);
	return r ? r : read_facts(json, &saved->told, why);
}

static int saved_read(struct saved *saved, const char *path, char **why)
{
	_cleanup_close_ int fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	int r;

	if (fd < 0)
		return -errno;
	saved->told.path = saved->path = strdup(path);
	if (!saved->path)
		return -ENOMEM;
	r = json_file_read(&saved->json, fd, FILE_NAME, why);
	if (!r)
		r = read_all(saved, why);
	saved->told.size = tree_size(fd, "perf.data").all;
	return r;
}

int perf_poke__capture_open(const struct perf_poke_capture **capture, const char *path)
{
	_cleanup_(saved_freep) struct saved *saved = calloc(1, sizeof(*saved));
	_cleanup_free_ char *why = NULL;
	const struct log log = {};
	int r;

	log_enter();
	r = saved ? saved_read(saved, path, &why) : -ENOMEM;
	if (!r)
		*capture = &TAKE_PTR(saved)->told;
	else
		log_error(&log, r, "%s/" FILE_NAME ": %s", path, why ?: strerror(-r));
	return log_leave(r);
}

void perf_poke__capture_close(const struct perf_poke_capture *capture)
{
	saved_free((struct saved *)capture);
}

static json_object *find(const struct perf_poke_capture *capture, const char *path)
{
	return json_find(((const struct saved *)capture)->json, path);
}

int perf_poke__capture_number(const struct perf_poke_capture *capture, const char *path,
			      uint64_t *value)
{
	json_object *found = find(capture, path);
	uint64_t number;

	if (!found)
		return -ENOENT;
	if (json_object_is_type(found, json_type_boolean))
		number = (uint64_t)json_object_get_boolean(found);
	else if (!json_number(found, &number))
		return -EINVAL;
	*value = number;
	return 0;
}

const char *perf_poke__capture_text(const struct perf_poke_capture *capture, const char *path)
{
	json_object *found = find(capture, path);

	return json_object_is_type(found, json_type_string) ? json_object_get_string(found) : NULL;
}

/* A folder without access may be one. */
static bool is_capture(int dirfd, const char *name)
{
	_cleanup_close_ int fd = openat(dirfd, name, O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	if (fd < 0)
		return errno == EACCES;
	return !faccessat(fd, FILE_NAME, F_OK, AT_SYMLINK_NOFOLLOW) ||
	       !faccessat(fd, "perf.data", F_OK, AT_SYMLINK_NOFOLLOW);
}

/* Hidden captures are being written. */
static int is_shown(const struct dirent *entry)
{
	return entry->d_name[0] != '.';
}

static int tell(const char *folder, const char *name, perf_poke_path_fn fn, void *ctx)
{
	_cleanup_free_ char *path =
		strfmt("%s%s%s", folder, folder[strlen(folder) - 1] == '/' ? "" : "/", name);

	if (path)
		fn(ctx, path);
	return path ? 1 : -ENOMEM;
}

int perf_poke__captures(const char *folder, perf_poke_path_fn fn, void *ctx)
{
	_cleanup_close_ int fd = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	struct dirent **names;
	int nr, told = 0;

	if (fd < 0)
		return -errno;
	if (is_capture(fd, ".")) {
		fn(ctx, folder);
		return 1;
	}
	nr = scandirat(fd, ".", &names, is_shown, alphasort);
	if (nr < 0)
		return -errno;
	for (int i = 0; i < nr; i++) {
		if (told >= 0 && is_capture(fd, names[i]->d_name)) {
			int r = tell(folder, names[i]->d_name, fn, ctx);

			told = r < 0 ? r : told + r;
		}
		free(names[i]);
	}
	free(names);
	return told;
}
