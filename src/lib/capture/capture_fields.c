// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
#include "capture/capture_internal.h"

#include <string.h>

#include "bpf/trigger.h"
#include "clock.h"
#include "cpulist.h"
#include "json_util.h"
#include "trigger/trigger.h"

#define FRAMES_MAX (TRIGGER_KERNEL_FRAMES + TRIGGER_USER_FRAMES)

enum field_type {
	FIELD_COUNT, /* this and the next two: uint64_t */
	FIELD_NS,
	FIELD_BYTES,
	FIELD_INT,
	FIELD_TASK,    /* int */
	FIELD_CPU,     /* int; -1: none */
	FIELD_FLAG,    /* bool */
	FIELD_MAYBE,   /* int: 1, 0, or -1: unknown */
	FIELD_ADDRESS, /* uint64_t */
	FIELD_CHARS,   /* char[] */
	FIELD_STRING,  /* const char * */
	FIELD_KIND,    /* enum perf_poke_trigger_kind; null for a poke */
	FIELD_POLICY,  /* int: SCHED_... */
	FIELD_DATE,    /* uint64_t, ns since 1970 */
	FIELD_STACK,   /* rows of frames; `size` is the offset of their number, as in the next */
	FIELD_BUCKETS,
};

/* The value that is null in JSON: unknown, or none. */
enum field_null { NULL_NONE, NULL_ZERO, NULL_MAX };

struct field {
	const char *path; /* in capture.json; NULL: not there */
	enum field_type type;
	bool of_spike; /* offset in struct perf_poke_spike, else in struct perf_poke_capture */
	size_t offset, size;
	enum field_null null;
	const char *name; /* in lines and bindings; NULL: the last of the path */
	bool required;
	bool elsewhere; /* json.c writes it */
	/* NULL: always. Without it the field is left out; an object of such fields is null. */
	bool (*is_there)(const struct perf_poke_capture *capture);
};

static bool capture_has_trace(const struct perf_poke_capture *capture)
{
	return capture->trace_bytes;
}

static bool capture_has_noise(const struct perf_poke_capture *capture)
{
	return capture->spike->has_noise;
}

static bool capture_is_of_noise(const struct perf_poke_capture *capture)
{
	return capture_has_noise(capture) && capture->spike->kind == PERF_POKE_TRIGGER_NOISE;
}

static bool capture_has_holder(const struct perf_poke_capture *capture)
{
	return capture->spike->nr_holder_frames;
}

/* Whether the scheduling of the interrupted task is known. */
static bool capture_has_policy(const struct perf_poke_capture *capture)
{
	return capture->spike->policy >= 0 && !capture->spike->idle;
}

static bool capture_has_late_thread(const struct perf_poke_capture *capture)
{
	return capture->spike->late_tid;
}

static bool capture_has_late_policy(const struct perf_poke_capture *capture)
{
	return capture_has_late_thread(capture) && capture->spike->late_policy >= 0;
}

#define PLACE(type, member) offsetof(struct type, member), sizeof(((struct type *)0)->member)
#define SPIKE(member) true, PLACE(perf_poke_spike, member)
#define CAPTURE(member) false, PLACE(perf_poke_capture, member)
#define STACK(member, nr)                                                                          \
	true, offsetof(struct perf_poke_spike, member), offsetof(struct perf_poke_spike, nr)
#define BUCKETS(member, nr)                                                                        \
	false, offsetof(struct perf_poke_capture, member), offsetof(struct perf_poke_capture, nr)

/* In the order of capture.json. */
static const struct field fields[] = {
	{ "spike.sequence", FIELD_COUNT, SPIKE(sequence) },
	{ "spike.cpu", FIELD_CPU, SPIKE(cpu), .required = true },
	{ "spike.ran_cpu", FIELD_CPU, SPIKE(ran_cpu) },
	{ "spike.ran_watched", FIELD_FLAG, SPIKE(ran_watched) },
	{ "spike.latency_ns", FIELD_NS, SPIKE(latency_ns) },
	{ "spike.time_ns", FIELD_NS, SPIKE(time_ns), .required = true },
	{ "spike.expected_ns", FIELD_NS, SPIKE(expected_ns) },
	{ "spike.actual_ns", FIELD_NS, SPIKE(actual_ns) },
	{ "spike.wall_time", FIELD_DATE, CAPTURE(wall_ns), .name = "wall_time_ns" },
	{ "spike.function", FIELD_STRING, SPIKE(function_name), .name = "function_name" },
	{ "spike.function_address", FIELD_ADDRESS, SPIKE(function), .name = "function" },
	{ "spike.timer_address", FIELD_ADDRESS, SPIKE(timer), .name = "timer" },
	{ "spike.pid", FIELD_TASK, SPIKE(pid) },
	{ "spike.tid", FIELD_TASK, SPIKE(tid) },
	{ "spike.comm", FIELD_CHARS, SPIKE(comm) },
	{ "spike.policy", FIELD_POLICY, SPIKE(policy), .is_there = capture_has_policy },
	{ "spike.priority", FIELD_INT, SPIKE(rt_priority), .is_there = capture_has_policy },
	{ "spike.nice", FIELD_INT, SPIKE(nice), .is_there = capture_has_policy },
	{ "spike.idle", FIELD_FLAG, SPIKE(idle) },
	{ "spike.poked", FIELD_FLAG, SPIKE(poked) },
	{ "spike.rtla", FIELD_FLAG, SPIKE(rtla) },
	{ "spike.trigger", FIELD_KIND, SPIKE(kind) },
	{ "spike.label", FIELD_CHARS, SPIKE(label), NULL_ZERO },
	{ "spike.irq_ns", FIELD_NS, SPIKE(irq_ns), NULL_ZERO },
	{ "spike.thread_ns", FIELD_NS, SPIKE(thread_ns), NULL_ZERO },
	{ "spike.user_ns", FIELD_NS, SPIKE(user_ns), NULL_ZERO },
	{ "spike.noise.irq_ns", FIELD_NS, SPIKE(noise_irq_ns), .name = "noise_irq_ns",
	  .is_there = capture_has_noise },
	{ "spike.noise.softirq_ns", FIELD_NS, SPIKE(noise_softirq_ns), .name = "noise_softirq_ns",
	  .is_there = capture_has_noise },
	{ "spike.noise.thread_ns", FIELD_NS, SPIKE(noise_thread_ns), .name = "noise_thread_ns",
	  .is_there = capture_has_noise },
	{ "spike.noise.nmi_ns", FIELD_NS, SPIKE(noise_nmi_ns), .name = "noise_nmi_ns",
	  .is_there = capture_has_noise },
	{ "spike.noise.most_ns", FIELD_NS, SPIKE(noise_most_ns), .name = "noise_most_ns",
	  .is_there = capture_is_of_noise },
	{ "spike.overrun", FIELD_FLAG, SPIKE(overrun) },
	{ "spike.uncertain", FIELD_FLAG, SPIKE(uncertain) },
	{ "spike.irqs_off", FIELD_MAYBE, SPIKE(irqs_off) },
	{ "spike.stack_pid", FIELD_TASK, SPIKE(stack_pid) },
	{ "spike.stack_tid", FIELD_TASK, SPIKE(stack_tid) },
	{ "spike.stack_ns", FIELD_NS, SPIKE(stack_ns), NULL_ZERO },
	{ "spike.stack", FIELD_STACK, STACK(stack, nr_frames) },
	{ "spike.holder.pid", FIELD_TASK, SPIKE(holder_pid), .name = "holder_pid",
	  .is_there = capture_has_holder },
	{ "spike.holder.tid", FIELD_TASK, SPIKE(holder_tid), .name = "holder_tid",
	  .is_there = capture_has_holder },
	{ "spike.holder.interrupted", FIELD_FLAG, SPIKE(holder_interrupted),
	  .name = "holder_interrupted", .is_there = capture_has_holder },
	{ "spike.holder.stack", FIELD_STACK, STACK(holder, nr_holder_frames), .name = "holder",
	  .is_there = capture_has_holder },
	{ "spike.thread.pid", FIELD_TASK, SPIKE(late_pid), .name = "late_pid",
	  .is_there = capture_has_late_thread },
	{ "spike.thread.tid", FIELD_TASK, SPIKE(late_tid), .name = "late_tid",
	  .is_there = capture_has_late_thread },
	{ "spike.thread.comm", FIELD_CHARS, SPIKE(late_comm), NULL_ZERO, "late_comm",
	  .is_there = capture_has_late_thread },
	{ "spike.thread.policy", FIELD_POLICY, SPIKE(late_policy), .name = "late_policy",
	  .is_there = capture_has_late_policy },
	{ "spike.thread.priority", FIELD_INT, SPIKE(late_priority), .name = "late_priority",
	  .is_there = capture_has_late_policy },
	{ "spike.thread.nice", FIELD_INT, SPIKE(late_nice), .name = "late_nice",
	  .is_there = capture_has_late_policy },
	{ "threshold_ns", FIELD_NS, SPIKE(threshold_ns), NULL_ZERO },
	{ "floor_ns", FIELD_NS, CAPTURE(floor_ns), NULL_ZERO },
	{ "skid_ns", FIELD_NS, CAPTURE(skid_ns) },
	{ "blind_ns", FIELD_NS, CAPTURE(blind_ns) },
	{ "history_ns", FIELD_NS, CAPTURE(history_ns), NULL_MAX },
	{ "events", FIELD_COUNT, CAPTURE(events) },
	{ "lost", FIELD_COUNT, CAPTURE(lost) },
	{ NULL, FIELD_STRING, CAPTURE(path), .name = "path" },
	{ NULL, FIELD_BUCKETS, BUCKETS(buckets, nr_buckets), .name = "buckets" },
	{ NULL, FIELD_BYTES, CAPTURE(size), .name = "size_bytes" },
	{ NULL, FIELD_BYTES, CAPTURE(trace_bytes), .name = "trace_bytes",
	  .is_there = capture_has_trace },
	{ "recorder.kind", FIELD_STRING, CAPTURE(recorder), .name = "recorder", .required = true,
	  .elsewhere = true },
	{ "kernel.release", FIELD_STRING, CAPTURE(kernel), .name = "kernel", .elsewhere = true },
	{ "machine.hostname", FIELD_STRING, CAPTURE(hostname), .elsewhere = true },
};

static const char *const policies[] = {
	"other", "fifo", "rr", "batch", NULL, "idle", "deadline", "ext",
};

/* NULL: from a later kernel */
static const char *sched_policy_name(int policy)
{
	return (size_t)policy < ARRAY_SIZE(policies) ? policies[policy] : NULL;
}

static const char *last_path_member(const char *path)
{
	const char *dot = strrchr(path, '.');

	return dot ? dot + 1 : path;
}

static void json_add_build_id(struct json_object *to, const struct perf_poke_frame *frame)
{
	char text[2 * sizeof(frame->build_id) + 1] = "";

	for (size_t i = 0; i < frame->build_id_size; i++)
		snprintf(text + 2 * i, 3, "%02x", frame->build_id[i]);
	json_add_name(to, "build_id", text);
}

static struct json_object *stack_frame_json(const struct perf_poke_frame *frame)
{
	struct json_object *json = json_object_new_object();

	json_add(json, "address", json_address(frame->address));
	if (frame->user) {
		json_add_text(json, "file", frame->file);
		json_add_build_id(json, frame);
		if (frame->symbol)
			json_add_text(json, "symbol", frame->symbol);
	} else {
		json_add_text(json, "symbol", frame->symbol);
		json_add_text(json, "module", frame->file);
	}
	json_add(json, "offset",
		 frame->symbol || frame->file || frame->build_id_size
			 ? json_object_new_uint64(frame->offset)
			 : NULL);
	json_add_bool(json, "user", frame->user);
	return json;
}

static struct json_object *stack_frames_json(const struct perf_poke_frame *const *stack, size_t nr,
					     bool empty)
{
	struct json_object *json = nr || empty ? json_object_new_array() : NULL;

	for (size_t i = 0; i < nr; i++)
		json_object_array_add(json, stack_frame_json(stack[i]));
	return json;
}

/* NULL past the last one. */
static const char *trigger_row_name(size_t kind)
{
	const struct trigger_row *row = trigger_row(kind);

	return row ? row->choice.name : NULL;
}

static struct json_object *histogram_buckets_json(const struct perf_poke_bucket *buckets, size_t nr)
{
	struct json_object *json = json_object_new_array();

	for (size_t i = 0; i < nr; i++)
		json_object_array_add(json, json_bucket_row(buckets[i].low_ns, buckets[i].high_ns,
							    buckets[i].count));
	return json;
}

static struct json_object *known_number_json(uint64_t number, enum field_null null)
{
	if ((null == NULL_ZERO && !number) || (null == NULL_MAX && number == UINT64_MAX))
		return NULL;
	return json_object_new_uint64(number);
}

/* Not everything that fills the array ends with a NUL. */
static struct json_object *char_array_json(const char *chars, const struct field *field)
{
	_cleanup_free_ char *text = strndup(chars, field->size);

	return text && (*text || !field->null) ? json_text_value(text) : NULL;
}

static struct json_object *utc_date_json(uint64_t wall_ns)
{
	char text[CLOCK_UTC_SIZE];

	clock_format_utc(text, wall_ns);
	return json_object_new_string(text);
}

/* in_line: of --json, where dates are numbers, and lists may be empty. */
static struct json_object *field_value_json(const struct field *field,
					    const struct perf_poke_capture *capture, bool in_line)
{
	const char *base = field->of_spike ? (const char *)capture->spike : (const char *)capture;
	const void *at = base + field->offset;

	switch (field->type) {
	case FIELD_COUNT:
	case FIELD_NS:
	case FIELD_BYTES:
		return known_number_json(*(const uint64_t *)at, field->null);
	case FIELD_INT:
	case FIELD_TASK:
	case FIELD_CPU:
		return json_object_new_int(*(const int *)at);
	case FIELD_FLAG:
		return json_object_new_boolean(*(const bool *)at);
	case FIELD_MAYBE:
		return *(const int *)at < 0 ? NULL : json_object_new_boolean(*(const int *)at);
	case FIELD_ADDRESS:
		return json_address(*(const uint64_t *)at);
	case FIELD_CHARS:
		return char_array_json(at, field);
	case FIELD_STRING:
		return json_text_value(*(const char *const *)at);
	case FIELD_KIND:
		return capture->spike->poked
			       ? NULL
			       : json_text_value(trigger_row_name(*(const unsigned int *)at));
	case FIELD_POLICY:
		return json_text_value(sched_policy_name(*(const int *)at));
	case FIELD_DATE:
		return in_line ? json_object_new_uint64(*(const uint64_t *)at)
			       : utc_date_json(*(const uint64_t *)at);
	case FIELD_STACK:
		return stack_frames_json(*(const struct perf_poke_frame *const *const *)at,
					 *(const size_t *)(base + field->size), in_line);
	case FIELD_BUCKETS:
		return histogram_buckets_json(*(const struct perf_poke_bucket *const *)at,
					      *(const size_t *)(base + field->size));
	}
	return NULL;
}

void capture_fields_write(struct json_object *json, const struct perf_poke_capture *capture)
{
	for (const struct field *field = fields; field < fields + ARRAY_SIZE(fields); field++) {
		bool is_there = !field->is_there || field->is_there(capture);
		struct json_object *parent = json;
		const char *path = field->path;
		size_t length;

		if (!path || field->elsewhere)
			continue;
		/* Down to the object that the path's last member is in; or its place is null. */
		for (; (length = strcspn(path, ".")), parent && path[length]; path += length + 1) {
			_cleanup_free_ char *name = strndup(path, length);
			struct json_object *child = NULL;

			if (name && !json_object_object_get_ex(parent, name, &child)) {
				child = is_there ? json_object_new_object() : NULL;
				json_add(parent, name, child);
			}
			parent = child;
		}
		if (parent && is_there)
			json_add(parent, last_path_member(field->path),
				 field_value_json(field, capture, false));
	}
}

char *perf_poke__capture_json(const struct perf_poke_capture *capture)
{
	struct json_object *spike = json_object_new_object(), *json = json_object_new_object();
	char *text;

	for (const struct field *field = fields; field < fields + ARRAY_SIZE(fields); field++) {
		if (!field->is_there || field->is_there(capture))
			json_add(field->of_spike ? spike : json,
				 field->name ?: last_path_member(field->path),
				 field_value_json(field, capture, true));
	}
	json_add(json, "spike", spike);
	text = strdup(json_object_to_json_string_ext(json, JSON_C_TO_STRING_NOSLASHESCAPE));
	json_object_put(json);
	return text;
}

/* NULL if missing or empty. */
static const char *json_name_or_null(struct json_object *json, const char *path)
{
	const char *text = json_text_of(json, path);

	return *text ? text : NULL;
}

/* An address is a string such as 0xffffffff81000000. */
static uint64_t json_address_of(struct json_object *json, const char *path)
{
	const char *text = json_text_of(json, path);

	return strncmp(text, "0x", 2) ? 0 : strtoull(text, NULL, 16);
}

static bool field_read_frame(struct json_object *row, struct perf_poke_frame *frame)
{
	struct json_object *user = json_object_is_type(row, json_type_object)
					   ? json_find_typed(row, "user", json_type_boolean)
					   : NULL;
	const char *id = json_text_of(row, "build_id");
	unsigned int byte;

	frame->address = json_address_of(row, "address");
	frame->user = json_object_get_boolean(user);
	frame->symbol = json_name_or_null(row, "symbol");
	frame->file = json_name_or_null(row, frame->user ? "file" : "module");
	if (!json_read_number(json_find_value(row, "offset"), &frame->offset))
		frame->offset = 0;
	while (frame->build_id_size < sizeof(frame->build_id) && sscanf(id, "%2x", &byte) == 1) {
		frame->build_id[frame->build_id_size++] = (uint8_t)byte;
		id += id[1] ? 2 : 1;
	}
	return user;
}

/* Rows and frames are one allocation. */
static int field_read_stack(struct json_object *list, const char *path,
			    const struct perf_poke_frame *const **stack, size_t *nr, char **why)
{
	const struct perf_poke_frame **rows;
	struct perf_poke_frame *frames;
	size_t length;

	if (!list)
		return 0;
	if (!json_object_is_type(list, json_type_array))
		return say_why(why, -EINVAL, "%s is not a list", path);
	length = json_object_array_length(list);
	if (length > FRAMES_MAX)
		length = FRAMES_MAX;
	if (!length)
		return 0;
	*stack = rows = calloc(length, sizeof(*rows) + sizeof(*frames));
	if (!rows)
		return -ENOMEM;
	frames = (struct perf_poke_frame *)(rows + length);
	for (; *nr < length; (*nr)++) {
		if (!field_read_frame(json_object_array_get_idx(list, *nr), &frames[*nr]))
			return say_why(why, -EINVAL, "%s: row %zu is not a frame", path, *nr);
		rows[*nr] = &frames[*nr];
	}
	return 0;
}

static int field_read_kind(struct json_object *value, const char *path,
			   enum perf_poke_trigger_kind *kind, char **why)
{
	const char *name = json_object_get_string(value);

	*kind = PERF_POKE_TRIGGER_IRQ;
	if (!value)
		return 0;
	if (!json_object_is_type(value, json_type_string))
		return say_why(why, -EINVAL, "%s is not a string", path);
	for (size_t i = 0; trigger_row_name(i); i++) {
		*kind = (enum perf_poke_trigger_kind)i;
		if (!strcmp(name, trigger_row_name(i)))
			return 0;
	}
	return say_why(why, -ENOTSUP, "%s '%.32s' is unknown to this version", path, name);
}

static int field_read_cpu(struct json_object *value, const struct field *field, int *cpu,
			  char **why)
{
	*cpu = json_object_get_int(value);
	if (!value && !field->required)
		return 0;
	if (!json_object_is_type(value, json_type_int))
		return say_why(why, -EINVAL, "%s is missing or not a number", field->path);
	return *cpu >= -1 && *cpu < CPULIST_MAX_CPUS
		       ? 0
		       : say_why(why, -EINVAL, "%s %d: no such CPU", field->path, *cpu);
}

static int field_read_policy(const char *name)
{
	for (size_t i = 0; i < ARRAY_SIZE(policies); i++) {
		if (policies[i] && !strcmp(policies[i], name))
			return (int)i;
	}
	return -1;
}

static int field_read_number(struct json_object *value, const struct field *field, uint64_t *number,
			     char **why)
{
	if (value && !json_read_number(value, number))
		return say_why(why, -EINVAL, "%s is not a non-negative integer", field->path);
	if (!value && field->required)
		return say_why(why, -EINVAL, "%s is missing", field->path);
	if (!value)
		*number = field->null == NULL_MAX ? UINT64_MAX : 0;
	return 0;
}

static int field_read_string(struct json_object *json, const struct field *field,
			     const char **string, char **why)
{
	*string = json_name_or_null(json, field->path);
	return *string || !field->required
		       ? 0
		       : say_why(why, -EINVAL, "%s is missing or not a string", field->path);
}

static int field_read_value(struct json_object *json, const struct field *field, char *base,
			    char **why)
{
	struct json_object *value = json_find_value(json, field->path);
	void *at = base + field->offset;

	switch (field->type) {
	case FIELD_COUNT:
	case FIELD_NS:
	case FIELD_BYTES:
		return field_read_number(value, field, at, why);
	case FIELD_INT:
		*(int *)at =
			json_object_is_type(value, json_type_int) ? json_object_get_int(value) : 0;
		return 0;
	case FIELD_TASK:
		return !value || json_read_task_id(value, at)
			       ? 0
			       : say_why(why, -EINVAL, "%s is not a task id", field->path);
	case FIELD_CPU:
		return field_read_cpu(value, field, at, why);
	case FIELD_FLAG:
		*(bool *)at = json_object_get_boolean(value);
		return !value || json_object_is_type(value, json_type_boolean)
			       ? 0
			       : say_why(why, -EINVAL, "%s is not true or false", field->path);
	case FIELD_MAYBE:
		*(int *)at = json_object_is_type(value, json_type_boolean)
				     ? json_object_get_boolean(value)
				     : -1;
		return 0;
	case FIELD_ADDRESS:
		*(uint64_t *)at = json_address_of(json, field->path);
		return 0;
	case FIELD_CHARS:
		snprintf(at, field->size, "%s", json_text_of(json, field->path));
		return !value || json_object_is_type(value, json_type_string)
			       ? 0
			       : say_why(why, -EINVAL, "%s is not a string", field->path);
	case FIELD_STRING:
		return field_read_string(json, field, at, why);
	case FIELD_KIND:
		return field_read_kind(value, field->path, at, why);
	case FIELD_POLICY:
		*(int *)at = field_read_policy(json_text_of(json, field->path));
		return 0;
	case FIELD_DATE:
		return json_read_date(json, field->path, at, why);
	case FIELD_STACK:
		return field_read_stack(value, field->path, at, (size_t *)(base + field->size),
					why);
	case FIELD_BUCKETS: /* see read.c */
		return 0;
	}
	return 0;
}

int capture_fields_read(struct json_object *json, struct perf_poke_capture *capture,
			struct perf_poke_spike *spike, char **why)
{
	struct json_object *schema = json_find_typed(json, "schema", json_type_int);

	if (!schema)
		return say_why(why, -EINVAL, "schema is missing or not a number");
	if (json_object_get_int(schema) != CAPTURE_SCHEMA)
		return say_why(why, -EINVAL, "schema %d: this version reads %d",
			       json_object_get_int(schema), CAPTURE_SCHEMA);
	for (const struct field *field = fields; field < fields + ARRAY_SIZE(fields); field++) {
		char *base = field->of_spike ? (char *)spike : (char *)capture;
		int err = field->path ? field_read_value(json, field, base, why) : 0;

		if (err)
			return err;
	}
	spike->has_noise = json_find_value(json, "spike.noise");
	/* Earlier versions recorded only interrupts, which run on the CPU of their timer. */
	if (!json_find_value(json, "spike.ran_cpu"))
		spike->ran_cpu = spike->cpu;
	return 0;
}

void capture_fields_release(struct perf_poke_spike *spike)
{
	free((void *)spike->stack);
	free((void *)spike->holder);
}
