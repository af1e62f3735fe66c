// SPDX-License-Identifier: GPL-2.0-only
#include "capture/capture_file.h"

#include <inttypes.h>
#include <json-c/json.h>
#include <limits.h>
#include <string.h>
#include <time.h>

#include "capture/json_strict.h"
#include "cli/options.h"
#include "clock.h"
#include "cpulist.h"
#include "printable.h"
#include "regular.h"
#include "units.h"

#define SCHEMA 1
#define MAX_DEPTH 16

static void json_putp(json_object **object)
{
	json_object_put(*object);
}

static void tokener_freep(json_tokener **tokener)
{
	if (*tokener)
		json_tokener_free(*tokener);
}

/* Looks up a dotted path; NULL if missing or null. */
static json_object *find_any(json_object *from, const char *path)
{
	char name[32];

	while (*path) {
		size_t length = strcspn(path, ".");

		snprintf(name, sizeof(name), "%.*s", (int)length, path);
		if (!json_object_object_get_ex(from, name, &from))
			return NULL;
		path += length + (path[length] == '.');
	}
	return from;
}

static bool is_null(json_object *object, const char *name)
{
	json_object *value;

	return json_object_object_get_ex(object, name, &value) && !value;
}

static json_object *find(json_object *from, const char *path, json_type type)
{
	json_object *value = find_any(from, path);

	return json_object_is_type(value, type) ? value : NULL;
}

/* json-c turns a number that overflows into INT64_MAX, so that value is rejected as well. */
static bool as_number(json_object *value, uint64_t *number)
{
	int64_t found =
		json_object_is_type(value, json_type_int) ? json_object_get_int64(value) : -1;

	*number = (uint64_t)found;
	return found >= 0 && found < INT64_MAX;
}

static bool as_task(json_object *value, int *id)
{
	*id = json_object_is_type(value, json_type_int) ? json_object_get_int(value) : -1;
	return *id >= 0 && *id < INT_MAX;
}

/* A member of capture.json. Rows with `required` set may not be missing or null. */
struct field {
	const char *path;
	enum { FIELD_NUMBER, FIELD_TASK, FIELD_FLAG, FIELD_TEXT } kind;
	void *to; /* uint64_t, int, bool or char[size] */
	size_t size;
	bool required;
};

static bool read_value(json_object *value, const struct field *field)
{
	switch (field->kind) {
	case FIELD_NUMBER:
		return as_number(value, field->to);
	case FIELD_TASK:
		return as_task(value, field->to);
	case FIELD_FLAG:
		*(bool *)field->to = json_object_get_boolean(value);
		return json_object_is_type(value, json_type_boolean);
	case FIELD_TEXT:
		snprintf(field->to, field->size, "%s", json_object_get_string(value));
		return json_object_is_type(value, json_type_string);
	}
	return false;
}

static int read_fields(json_object *json, const struct field *fields, size_t nr, char **why)
{
	static const char *const kinds[] = { "a number from 0 on", "a task id", "true or false",
					     "a string" };

	for (const struct field *field = fields; field < fields + nr; field++) {
		json_object *value = find_any(json, field->path);

		if (!value && field->required)
			return options_explain(why, -EINVAL, "%s is missing", field->path);
		if (value && !read_value(value, field))
			return options_explain(why, -EINVAL, "%s is not %s", field->path,
					       kinds[field->kind]);
	}
	return 0;
}

static int read_time(json_object *json, const char *path, uint64_t *time_ns, char **why)
{
	return read_fields(json, &(struct field){ path, FIELD_NUMBER, time_ns, .required = true },
			   1, why);
}

/* Events use the clock of the spike, Intel PT uses perf's: recorder.clock relates the two. */
static int read_spike_time(json_object *json, struct capture_file *file, char **why)
{
	uint64_t monotonic_ns = 0, perf_ns = 0;
	int r = read_time(json, "spike.time_ns", &file->time_ns, why);

	file->view.spike_ns = file->time_ns;
	if (r || file->view.kind != VIEW_PT)
		return r;
	r = read_time(json, "recorder.clock.monotonic_ns", &monotonic_ns, why);
	if (!r && !is_null(find_any(json, "recorder.clock"), "perf_ns"))
		r = read_time(json, "recorder.clock.perf_ns", &perf_ns, why);
	/* Earlier versions wrote 0 if TSC was not perf's clock. */
	file->view.no_times = !r && !perf_ns;
	if (r || file->view.no_times)
		return r;
	if (file->time_ns + perf_ns < monotonic_ns)
		return options_explain(why, -EINVAL,
				       "recorder.clock: the spike is before the clock's start");
	file->view.spike_ns = file->time_ns + perf_ns - monotonic_ns;
	return 0;
}

static int read_kind(json_object *json, enum view_kind *kind, char **why)
{
	json_object *value = find(json, "recorder.kind", json_type_string);
	const char *name = value ? json_object_get_string(value) : NULL;

	if (!name)
		return options_explain(why, -EINVAL, "recorder.kind is missing or not a string");
	for (*kind = 0; *kind < VIEW_NR; ++*kind) {
		if (!strcmp(name, view_kind_name(*kind)))
			return 0;
	}
	return options_explain(why, -EINVAL, "recorder.kind '%.32s' is unknown to this version",
			       name);
}

static int read_cpu(json_object *json, int *cpu, char **why)
{
	json_object *value = find(json, "spike.cpu", json_type_int);

	if (!value)
		return options_explain(why, -EINVAL, "spike.cpu is missing or not a number");
	*cpu = json_object_get_int(value);
	if (*cpu < -1 || *cpu >= CPULIST_MAX_CPUS)
		return options_explain(why, -EINVAL, "spike.cpu %d: no such CPU", *cpu);
	return 0;
}

static int read_view(json_object *json, struct capture_file *file, char **why)
{
	struct view_capture *view = &file->view;
	const char *freeze;
	json_object *ran;
	int r = read_kind(json, &view->kind, why);

	if (!r)
		r = read_spike_time(json, file, why);
	if (!r)
		r = read_cpu(json, &view->cpu, why);
	if (r)
		return r;
	freeze = json_object_get_string(find(json, "recorder.freeze", json_type_string)) ?: "";
	ran = find(json, "spike.ran_cpu", json_type_int);
	/* Neither for pokes nor for spikes that involve two CPUs. */
	if (view->kind != VIEW_PT || view->cpu < 0 ||
	    (ran && json_object_get_int(ran) != view->cpu))
		return 0;
	view->sampled = !strcmp(freeze, "sample");
	view->ends_at_spike = view->sampled || !strcmp(freeze, "pause");
	return 0;
}

static int read_all_fields(json_object *json, struct capture_file *file, char **why)
{
#define TEXT(member) FIELD_TEXT, file->member, sizeof(file->member)
	const struct field fields[] = {
		{ "spike.sequence", FIELD_NUMBER, &file->sequence },
		{ "spike.latency_ns", FIELD_NUMBER, &file->view.latency_ns },
		{ "spike.expected_ns", FIELD_NUMBER, &file->expected_ns },
		{ "spike.actual_ns", FIELD_NUMBER, &file->actual_ns },
		{ "spike.irq_ns", FIELD_NUMBER, &file->irq_ns },
		{ "history_ns", FIELD_NUMBER, &file->view.history_ns },
		{ "threshold_ns", FIELD_NUMBER, &file->threshold_ns },
		{ "skid_ns", FIELD_NUMBER, &file->skid_ns },
		{ "events", FIELD_NUMBER, &file->events },
		{ "lost", FIELD_NUMBER, &file->lost },
		{ "spike.pid", FIELD_TASK, &file->pid },
		{ "spike.tid", FIELD_TASK, &file->tid },
		{ "spike.poked", FIELD_FLAG, &file->poked },
		{ "spike.idle", FIELD_FLAG, &file->idle },
		{ "spike.comm", TEXT(comm) },
		{ "spike.function", TEXT(function) },
		{ "spike.function_address", TEXT(function_address) },
		{ "spike.trigger", TEXT(trigger) },
		{ "spike.label", TEXT(label) },
		{ "kernel.release", TEXT(release) },
		{ "kernel.version", TEXT(version) },
		{ "machine.hostname", TEXT(hostname) },
		{ "machine.cpu", TEXT(model) },
	};
#undef TEXT

	return read_fields(json, fields, ARRAY_SIZE(fields), why);
}

static const char *text_of(json_object *from, const char *name)
{
	return json_object_get_string(find(from, name, json_type_string)) ?: "";
}

/* As `libc.so.6+0x1234`, where a symbol is not known. */
static void name_place(struct spike_frame *frame, const char *file, json_object *json)
{
	uint64_t offset;
	char name[64];

	if (*file && as_number(find_any(json, "offset"), &offset)) {
		printable_copy(name, sizeof(name),
			       strrchr(file, '/') ? strrchr(file, '/') + 1 : file);
		snprintf(frame->name, sizeof(frame->name), "%s+0x%" PRIx64, name, offset);
	} else {
		printable_copy(name, sizeof(name), text_of(json, "address"));
		snprintf(frame->name, sizeof(frame->name), "[%s]", name);
	}
}

static bool read_frame(json_object *json, struct spike_frame *frame)
{
	json_object *user = find(json, "user", json_type_boolean);
	const char *symbol = text_of(json, "symbol");

	if (!json_object_is_type(json, json_type_object) || !user)
		return false;
	frame->user = json_object_get_boolean(user);
	frame->function = !frame->user && *symbol;
	if (frame->function) {
		printable_copy(frame->name, sizeof(frame->name), symbol);
		printable_copy(frame->module, sizeof(frame->module), text_of(json, "module"));
	} else {
		name_place(frame, frame->user ? text_of(json, "file") : "", json);
	}
	return true;
}

static int read_stack(json_object *json, struct capture_file *file, char **why)
{
	json_object *irqs_off = find(json, "spike.irqs_off", json_type_boolean);
	json_object *list = find_any(json, "spike.stack");
	size_t nr;

	if (find_any(json, "spike.stack_tid") &&
	    !as_task(find_any(json, "spike.stack_tid"), &file->stack.tid))
		return options_explain(why, -EINVAL, "spike.stack_tid is not a task id");
	file->stack.irqs_on = irqs_off && !json_object_get_boolean(irqs_off);

	if (!list)
		return 0;
	if (!json_object_is_type(list, json_type_array))
		return options_explain(why, -EINVAL, "spike.stack is not a list");
	nr = json_object_array_length(list);
	for (size_t i = 0; i < nr && i < STACK_FRAMES_MAX; i++) {
		if (!read_frame(json_object_array_get_idx(list, i), &file->stack.frames[i]))
			return options_explain(why, -EINVAL, "spike.stack: row %zu is not a frame",
					       i);
		file->stack.nr++;
	}
	return 0;
}

static int read_idle_states(json_object *json, struct hardware_facts *hardware, char **why)
{
	json_object *list = find_any(json, "hardware.idle_states");

	if (!list)
		return 0;
	if (!json_object_is_type(list, json_type_array))
		return options_explain(why, -EINVAL, "hardware.idle_states is not a list");
	for (size_t i = 0; i < json_object_array_length(list) && i < IDLE_STATES_MAX; i++) {
		json_object *row = json_object_array_get_idx(list, i);
		struct idle_state *state = &hardware->states[hardware->nr_states++];

		if (!json_object_is_type(row, json_type_object) ||
		    !as_number(find_any(row, "exit_latency_ns"), &state->exit_ns))
			return options_explain(why, -EINVAL,
					       "hardware.idle_states: row %zu is not a state", i);
		printable_copy(state->name, sizeof(state->name), text_of(row, "name"));
	}
	return 0;
}

/* What is missing or null was not counted. */
static int read_hardware(json_object *json, struct hardware_facts *hardware, char **why)
{
	const struct field fields[] = {
		{ "hardware.since_ns", FIELD_NUMBER, &hardware->since_ns },
		{ "hardware.smis", FIELD_NUMBER, &hardware->smis },
		{ "hardware.steal_ns", FIELD_NUMBER, &hardware->steal_ns },
		{ "hardware.late_steal_ns", FIELD_NUMBER, &hardware->late_steal_ns },
		{ "hardware.nmis", FIELD_NUMBER, &hardware->nmis },
		{ "hardware.throttles", FIELD_NUMBER, &hardware->throttles },
	};
	int r;

	hardware->smis = hardware->steal_ns = hardware->nmis = hardware->throttles = UINT64_MAX;
	hardware->late_steal_ns = UINT64_MAX;
	r = read_fields(json, fields, ARRAY_SIZE(fields), why);
	return r ? r : read_idle_states(json, hardware, why);
}

/* Such as 2026-11-21T07:01:43.881833Z */
static int read_wall_time(json_object *json, struct capture_file *file, char **why)
{
	json_object *value = find_any(json, "spike.wall_time");
	const char *text = NULL, *end = NULL;
	unsigned int us = 0;
	struct tm tm = { 0 };
	int length = -1;
	time_t seconds;

	if (!value)
		return 0;
	if (json_object_is_type(value, json_type_string))
		text = json_object_get_string(value);
	if (text)
		end = strptime(text, "%Y-%m-%dT%H:%M:%S", &tm);
	/* %6u alone would accept blanks and signs. */
	if (end && end[0] == '.' && strspn(end + 1, "0123456789") == 6)
		sscanf(end + 1, "%6u%n", &us, &length);
	seconds = length == 6 ? timegm(&tm) : -1;
	if (seconds < 0 || strcmp(end + 7, "Z"))
		return options_explain(why, -EINVAL, "spike.wall_time is not a date");
	file->wall_ns = (uint64_t)seconds * NSEC_PER_SEC + us * UINT64_C(1000);
	snprintf(file->wall_time, sizeof(file->wall_time), "%s", text);
	return 0;
}

static int read_all(json_object *json, struct capture_file *file, char **why)
{
	json_object *schema = find(json, "schema", json_type_int);
	int r;

	if (!schema)
		return options_explain(why, -EINVAL, "schema is missing or not a number");
	if (json_object_get_int(schema) != SCHEMA)
		return options_explain(why, -EINVAL, "schema %d: this version reads %d",
				       json_object_get_int(schema), SCHEMA);
	r = read_view(json, file, why);
	if (!r)
		r = read_all_fields(json, file, why);
	if (!r)
		r = read_stack(json, file, why);
	if (!r)
		r = read_hardware(json, &file->hardware, why);
	if (!r)
		r = read_wall_time(json, file, why);
	if (file->expected_ns && file->expected_ns < file->time_ns)
		file->view.expected_ns = file->view.spike_ns - (file->time_ns - file->expected_ns);
	return r;
}

static int parse_json(json_object **json, const char *text, size_t size, char **why)
{
	_cleanup_(tokener_freep) json_tokener *tokener = json_tokener_new_ex(MAX_DEPTH);
	enum json_tokener_error error;
	const char *wrong, *end;

	if (!tokener)
		return -ENOMEM;
	if (size > CAPTURE_FILE_MAX_SIZE)
		return options_explain(why, -EINVAL, "larger than %s",
				       FORMAT_SIZE(CAPTURE_FILE_MAX_SIZE));
	if (memchr(text, '\0', size))
		return options_explain(why, -EINVAL, "not JSON: contains a NUL");
	/* The NUL marks the end. */
	*json = json_tokener_parse_ex(tokener, text, (int)size + 1);
	error = json_tokener_get_error(tokener);
	if (error != json_tokener_success)
		return options_explain(why, -EINVAL, "not JSON: %s",
				       error == json_tokener_continue
					       ? "truncated"
					       : json_tokener_error_desc(error));
	end = text + json_tokener_get_parse_end(tokener);
	if (end < text + size && end[strspn(end, " \t\r\n")])
		return options_explain(why, -EINVAL, "not JSON: data after the end");
	wrong = json_strict(text);
	if (wrong)
		return options_explain(why, -EINVAL, "not JSON: %s", wrong);
	return 0;
}

int capture_file_parse(struct capture_file *file, const char *text, size_t size, char **why)
{
	_cleanup_(json_putp) json_object *json = NULL;
	int r = parse_json(&json, text, size, why);

	*file = (struct capture_file){ 0 };
	return r ? r : read_all(json, file, why);
}

static bool read_row(json_object *row, struct statistics *statistics)
{
	uint64_t after = statistics->nr ? statistics->rows[statistics->nr - 1].high_ns : 0;
	uint64_t low, high, count;

	if (!json_object_is_type(row, json_type_array) || json_object_array_length(row) != 3 ||
	    !as_number(json_object_array_get_idx(row, 0), &low) ||
	    !as_number(json_object_array_get_idx(row, 2), &count))
		return false;
	/* null: no upper end. */
	if (!json_object_array_get_idx(row, 1))
		high = UINT64_MAX;
	else if (!as_number(json_object_array_get_idx(row, 1), &high))
		return false;
	if (low < after || high <= low)
		return false;
	statistics->rows[statistics->nr].low_ns = low;
	statistics->rows[statistics->nr].high_ns = high;
	statistics->rows[statistics->nr++].count = count;
	return true;
}

static int read_rows(json_object *rows, struct statistics *statistics, char **why)
{
	size_t nr = rows ? json_object_array_length(rows) : 0;

	if (!rows || nr > STATISTICS_ROWS_MAX)
		return options_explain(why, -EINVAL, "statistics.histogram is not a list%s",
				       rows ? ": too many rows" : "");
	for (size_t i = 0; i < nr; i++) {
		if (!read_row(json_object_array_get_idx(rows, i), statistics))
			return options_explain(
				why, -EINVAL,
				"statistics.histogram: row %zu is not [LOW, HIGH, COUNT] in "
				"ascending order",
				i);
	}
	return 0;
}

static int read_statistics(json_object *json, struct statistics *statistics, char **why)
{
	const struct field fields[] = {
		{ "count", FIELD_NUMBER, &statistics->count, .required = true },
		{ "min_ns", FIELD_NUMBER, &statistics->min_ns, .required = true },
		{ "avg_ns", FIELD_NUMBER, &statistics->avg_ns, .required = true },
		{ "p50_ns", FIELD_NUMBER, &statistics->p50_ns, .required = true },
		{ "p99_ns", FIELD_NUMBER, &statistics->p99_ns, .required = true },
		{ "p99_9_ns", FIELD_NUMBER, &statistics->p99_9_ns, .required = true },
		{ "max_ns", FIELD_NUMBER, &statistics->max_ns, .required = true },
		{ "spikes", FIELD_NUMBER, &statistics->spikes, .required = true },
		{ "unarmed", FIELD_NUMBER, &statistics->unarmed, .required = true },
	};
	json_object *cpu = find(json, "cpu", json_type_int);
	_cleanup_free_ char *field = NULL;
	int r = read_fields(json, fields, ARRAY_SIZE(fields), &field);

	if (r)
		return field ? options_explain(why, r, "statistics.%s", field) : r;
	statistics->cpu = cpu ? json_object_get_int(cpu) : -1;
	return read_rows(find(json, "histogram", json_type_array), statistics, why);
}

int capture_file_parse_statistics(struct statistics *statistics, const char *text, size_t size,
				  char **why)
{
	_cleanup_(json_putp) json_object *json = NULL;
	int r = parse_json(&json, text, size, why);
	json_object *found = r ? NULL : find_any(json, "statistics");

	*statistics = (struct statistics){ 0 };
	return found ? read_statistics(found, statistics, why) : r;
}

static int read_text(int dirfd, char **text, size_t *size, char **why)
{
	_cleanup_close_ int fd = regular_open(dirfd, CAPTURE_FILE_NAME);
	_cleanup_free_ char *buf = NULL;
	ssize_t n;

	if (fd == -EINVAL)
		return options_explain(why, fd, "%s", regular_strerror(fd));
	if (fd < 0)
		return fd;
	buf = malloc(CAPTURE_FILE_MAX_SIZE + 2);
	if (!buf)
		return -ENOMEM;
	for (*size = 0; *size <= CAPTURE_FILE_MAX_SIZE; *size += (size_t)n) {
		n = read(fd, buf + *size, CAPTURE_FILE_MAX_SIZE + 1 - *size);
		if (n < 0)
			return -errno;
		if (!n)
			break;
	}
	if (!*size)
		return options_explain(why, -EINVAL, "empty file");
	buf[*size] = '\0';
	*text = TAKE_PTR(buf);
	return 0;
}

int capture_file_read(struct capture_file *file, int dirfd, char **why)
{
	_cleanup_free_ char *text = NULL;
	size_t size = 0;
	int r = read_text(dirfd, &text, &size, why);

	return r ? r : capture_file_parse(file, text, size, why);
}

int capture_file_read_statistics(struct statistics *statistics, int dirfd, char **why)
{
	_cleanup_free_ char *text = NULL;
	size_t size = 0;
	int r = read_text(dirfd, &text, &size, why);

	return r ? r : capture_file_parse_statistics(statistics, text, size, why);
}
