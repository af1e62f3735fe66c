// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
/* Captures on disk. They may be a stranger's: values are checked and bounded. */
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

/* What the library gives to the caller is `told`; its strings belong to the objects in `kept`. */
struct saved {
	struct perf_poke_capture told;
	struct perf_poke_spike spike;
	struct saved_stack {
		struct perf_poke_frame frames[FRAMES_MAX];
		const struct perf_poke_frame *rows[FRAMES_MAX];
		size_t nr;
	} stack, holder;
	json_object *kept[4];
	char *path;
};

static void saved_free(struct saved *saved)
{
	if (!saved)
		return;
	for (size_t i = 0; i < ARRAY_SIZE(saved->kept); i++)
		json_object_put(saved->kept[i]);
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

static int read_cpu(json_object *json, const char *path, int *cpu, char **why)
{
	json_object *value = json_find_typed(json, path, json_type_int);

	*cpu = value ? json_object_get_int(value) : -1;
	return *cpu >= -1 && *cpu < CPULIST_MAX_CPUS
		       ? 0
		       : say_why(why, -EINVAL, "%s %d: no such CPU", path, *cpu);
}

static void read_build_id(const char *text, struct perf_poke_frame *frame)
{
	unsigned int byte;

	while (frame->build_id_size < sizeof(frame->build_id) && sscanf(text, "%2x", &byte) == 1) {
		frame->build_id[frame->build_id_size++] = (uint8_t)byte;
		text += text[1] ? 2 : 1;
	}
}

static int read_stack(json_object *json, const char *path, struct saved_stack *stack, char **why)
{
	json_object *list = json_find_typed(json, path, json_type_array);
	size_t nr = list ? json_object_array_length(list) : 0;

	for (size_t i = 0; i < nr && i < FRAMES_MAX; i++) {
		json_object *row = json_object_array_get_idx(list, i);
		struct perf_poke_frame *frame = &stack->frames[i];

		if (!json_object_is_type(row, json_type_object))
			return say_why(why, -EINVAL, "%s: row %zu is not a frame", path, i);
		frame->address = address_of(row, "address");
		frame->user = json_object_get_boolean(json_find(row, "user"));
		frame->symbol = name_of(row, "symbol");
		frame->file = name_of(row, frame->user ? "file" : "module");
		json_number(json_find(row, "offset"), &frame->offset);
		read_build_id(json_text_of(row, "build_id"), frame);
		stack->rows[i] = frame;
		stack->nr = i + 1;
	}
	return 0;
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
		r = read_cpu(json, "spike.cpu", &spike->cpu, why);
	if (!r)
		r = read_cpu(json, "spike.ran_cpu", &spike->ran_cpu, why);
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
	};

	/* null, or not there. */
	told->history_ns = told->bytes_after_spike = UINT64_MAX;
	told->recorder = name_of(json, "recorder.kind");
	told->kernel = name_of(json, "kernel.release");
	told->hostname = name_of(json, "machine.hostname");
	if (!told->recorder)
		return say_why(why, -EINVAL, "recorder.kind is missing or not a string");
	return json_read_fields(json, fields, ARRAY_SIZE(fields), why)
		       ?: json_read_date(json, "spike.wall_time", &told->wall_ns, why);
}

/* The rest of the file, such as the histogram, is not kept. */
static void keep(struct saved *saved, json_object *json)
{
	static const char *const names[] = { "spike", "recorder", "kernel", "machine" };

	static_assert(ARRAY_SIZE(names) == ARRAY_SIZE(saved->kept), "one for each");
	for (size_t i = 0; i < ARRAY_SIZE(names); i++)
		saved->kept[i] = json_object_get(json_find(json, names[i]));
}

static int read_all(json_object *json, struct saved *saved, char **why)
{
	json_object *schema = json_find_typed(json, "schema", json_type_int);
	int r;

	if (!schema || json_object_get_int(schema) != SCHEMA)
		return say_why(why, -EINVAL, "schema: this version reads %d", SCHEMA);
	keep(saved, json);
	r = read_spike(json, &saved->spike, why);
	if (!r)
		r = read_stacks(json, saved, why);
	return r ? r : read_facts(json, &saved->told, why);
}

static int saved_read(struct saved *saved, const char *path, char **why)
{
	_cleanup_close_ int fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	_cleanup_json_ json_object *json = NULL;
	int r;

	if (fd < 0)
		return -errno;
	saved->spike.sz = sizeof(saved->spike);
	saved->told.sz = sizeof(saved->told);
	saved->told.spike = &saved->spike;
	saved->told.path = saved->path = strdup(path);
	if (!saved->path)
		return -ENOMEM;
	r = json_file_read(&json, fd, FILE_NAME, why);
	if (!r)
		r = read_all(json, saved, why);
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

/* A folder that cannot be looked into may be one. */
static bool is_capture(int dirfd, const char *name)
{
	_cleanup_close_ int fd = openat(dirfd, name, O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	if (fd < 0)
		return errno == EACCES;
	return !faccessat(fd, FILE_NAME, F_OK, AT_SYMLINK_NOFOLLOW) ||
	       !faccessat(fd, "perf.data", F_OK, AT_SYMLINK_NOFOLLOW);
}

/* Hidden ones are being written. */
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
