// SPDX-License-Identifier: GPL-2.0-only
#include "capture/capture_file.h"

#include <inttypes.h>
#include <string.h>

#include "cpulist.h"
#include "json_file.h"
#include "printable.h"

#define SCHEMA 1

static bool is_null(json_object *object, const char *name)
{
	json_object *value;

	return json_object_object_get_ex(object, name, &value) && !value;
}

static int read_time(json_object *json, const char *path, uint64_t *time_ns, char **why)
{
	return json_read_fields(
		json, &(struct json_field){ path, JSON_NUMBER, time_ns, .required = true }, 1, why);
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
	if (!r && !is_null(json_find(json, "recorder.clock"), "perf_ns"))
		r = read_time(json, "recorder.clock.perf_ns", &perf_ns, why);
	/* Earlier versions wrote 0 if TSC was not perf's clock. */
	file->view.no_times = !r && !perf_ns;
	if (r || file->view.no_times)
		return r;
	if (file->time_ns + perf_ns < monotonic_ns)
		return say_why(why, -EINVAL,
			       "recorder.clock: the spike is before the clock's start");
	file->view.spike_ns = file->time_ns + perf_ns - monotonic_ns;
	return 0;
}

static int read_kind(json_object *json, enum view_kind *kind, char **why)
{
	json_object *value = json_find_typed(json, "recorder.kind", json_type_string);
	const char *name = value ? json_object_get_string(value) : NULL;

	if (!name)
		return say_why(why, -EINVAL, "recorder.kind is missing or not a string");
	if (view_kind_find(name, kind))
		return 0;
	return say_why(why, -EINVAL, "recorder.kind '%.32s' is unknown to this version", name);
}

static int read_cpu(json_object *json, int *cpu, char **why)
{
	json_object *value = json_find_typed(json, "spike.cpu", json_type_int);

	if (!value)
		return say_why(why, -EINVAL, "spike.cpu is missing or not a number");
	*cpu = json_object_get_int(value);
	if (*cpu < -1 || *cpu >= CPULIST_MAX_CPUS)
		return say_why(why, -EINVAL, "spike.cpu %d: no such CPU", *cpu);
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
	freeze = json_object_get_string(json_find_typed(json, "recorder.freeze", json_type_string))
			 ?: "";
	ran = json_find_typed(json, "spike.ran_cpu", json_type_int);
	/* Neither for pokes nor for spikes that involve two CPUs. */
	if (view->kind != VIEW_PT || view->cpu < 0 ||
	    (ran && json_object_get_int(ran) != view->cpu))
		return 0;
	view->sampled = !strcmp(freeze, "sample");
	view->ends_at_spike = view->sampled || !strcmp(freeze, "pause");
	return 0;
}

static int read_members(json_object *json, struct capture_file *file, char **why)
{
#define TEXT(member) JSON_TEXT, file->member, sizeof(file->member)
	const struct json_field fields[] = {
		{ "spike.sequence", JSON_NUMBER, &file->sequence },
		{ "spike.latency_ns", JSON_NUMBER, &file->view.latency_ns },
		{ "spike.expected_ns", JSON_NUMBER, &file->expected_ns },
		{ "spike.actual_ns", JSON_NUMBER, &file->actual_ns },
		{ "spike.irq_ns", JSON_NUMBER, &file->irq_ns },
		{ "spike.noise.most_ns", JSON_NUMBER, &file->noise_most_ns },
		{ "history_ns", JSON_NUMBER, &file->view.history_ns },
		{ "threshold_ns", JSON_NUMBER, &file->threshold_ns },
		{ "skid_ns", JSON_NUMBER, &file->skid_ns },
		{ "events", JSON_NUMBER, &file->events },
		{ "lost", JSON_NUMBER, &file->lost },
		{ "spike.pid", JSON_TASK, &file->pid },
		{ "spike.tid", JSON_TASK, &file->tid },
		{ "spike.poked", JSON_FLAG, &file->poked },
		{ "spike.idle", JSON_FLAG, &file->idle },
		{ "spike.comm", TEXT(comm) },
		{ "spike.function", TEXT(function) },
		{ "spike.function_address", TEXT(function_address) },
		{ "spike.timer_address", TEXT(timer_address) },
		{ "workload.kind", TEXT(workload) },
		{ "workload.period_ns", JSON_NUMBER, &file->period_ns },
		{ "spike.trigger", TEXT(trigger) },
		{ "spike.label", TEXT(label) },
		{ "kernel.release", TEXT(release) },
		{ "kernel.version", TEXT(version) },
		{ "machine.hostname", TEXT(hostname) },
		{ "machine.cpu", TEXT(model) },
	};
#undef TEXT

	return json_read_fields(json, fields, ARRAY_SIZE(fields), why);
}

/* As `libc.so.6+0x1234`, where a symbol is not known. */
static void name_place(struct spike_frame *frame, const char *file, json_object *json)
{
	uint64_t offset;
	char name[64];

	if (*file && json_number(json_find(json, "offset"), &offset)) {
		printable_copy(name, sizeof(name),
			       strrchr(file, '/') ? strrchr(file, '/') + 1 : file);
		snprintf(frame->name, sizeof(frame->name), "%s+0x%" PRIx64, name, offset);
	} else {
		printable_copy(name, sizeof(name), json_text_of(json, "address"));
		snprintf(frame->name, sizeof(frame->name), "[%s]", name);
	}
}

static bool read_frame(json_object *json, struct spike_frame *frame)
{
	json_object *user = json_find_typed(json, "user", json_type_boolean);
	const char *symbol = json_text_of(json, "symbol");

	if (!json_object_is_type(json, json_type_object) || !user)
		return false;
	frame->user = json_object_get_boolean(user);
	frame->function = !frame->user && *symbol;
	if (frame->function) {
		printable_copy(frame->name, sizeof(frame->name), symbol);
		printable_copy(frame->module, sizeof(frame->module), json_text_of(json, "module"));
	} else {
		name_place(frame, frame->user ? json_text_of(json, "file") : "", json);
	}
	return true;
}

static int read_stack(json_object *json, const char *tid, const char *path,
		      struct spike_stack *stack, char **why)
{
	json_object *list = json_find(json, path);
	size_t nr;

	if (json_find(json, tid) && !json_task(json_find(json, tid), &stack->tid))
		return say_why(why, -EINVAL, "%s is not a task id", tid);
	if (!list)
		return 0;
	if (!json_object_is_type(list, json_type_array))
		return say_why(why, -EINVAL, "%s is not a list", path);
	nr = json_object_array_length(list);
	for (size_t i = 0; i < nr && i < STACK_FRAMES_MAX; i++) {
		if (!read_frame(json_object_array_get_idx(list, i), &stack->frames[i]))
			return say_why(why, -EINVAL, "%s: row %zu is not a frame", path, i);
		stack->nr++;
	}
	return 0;
}

static int read_stacks(json_object *json, struct capture_file *file, char **why)
{
	json_object *irqs_off = json_find_typed(json, "spike.irqs_off", json_type_boolean);
	json_object *interrupted =
		json_find_typed(json, "spike.holder.interrupted", json_type_boolean);
	int r = read_stack(json, "spike.stack_tid", "spike.stack", &file->stack, why);

	file->stack.irqs_on = irqs_off && !json_object_get_boolean(irqs_off);
	file->holder.interrupted = json_object_get_boolean(interrupted);
	return r ? r
		 : read_stack(json, "spike.holder.tid", "spike.holder.stack", &file->holder, why);
}

static int read_idle_states(json_object *json, struct hardware_facts *hardware, char **why)
{
	json_object *list = json_find(json, "hardware.idle_states");

	if (!list)
		return 0;
	if (!json_object_is_type(list, json_type_array))
		return say_why(why, -EINVAL, "hardware.idle_states is not a list");
	for (size_t i = 0; i < json_object_array_length(list) && i < IDLE_STATES_MAX; i++) {
		json_object *row = json_object_array_get_idx(list, i);
		struct idle_state *state = &hardware->states[hardware->nr_states++];

		if (!json_object_is_type(row, json_type_object) ||
		    !json_number(json_find(row, "exit_latency_ns"), &state->exit_ns))
			return say_why(why, -EINVAL, "hardware.idle_states: row %zu is not a state",
				       i);
		printable_copy(state->name, sizeof(state->name), json_text_of(row, "name"));
	}
	return 0;
}

/* A counter that is missing or null was not counted. */
static int read_hardware(json_object *json, struct hardware_facts *hardware, char **why)
{
	const struct json_field fields[] = {
		{ "hardware.since_ns", JSON_NUMBER, &hardware->since_ns },
		{ "hardware.smis", JSON_NUMBER, &hardware->smis },
		{ "hardware.steal_ns", JSON_NUMBER, &hardware->steal_ns },
		{ "hardware.late_steal_ns", JSON_NUMBER, &hardware->late_steal_ns },
		{ "hardware.nmis", JSON_NUMBER, &hardware->nmis },
		{ "hardware.throttles", JSON_NUMBER, &hardware->throttles },
	};
	int r;

	hardware->smis = hardware->steal_ns = hardware->nmis = hardware->throttles = UINT64_MAX;
	hardware->late_steal_ns = UINT64_MAX;
	r = json_read_fields(json, fields, ARRAY_SIZE(fields), why);
	return r ? r : read_idle_states(json, hardware, why);
}

static int read_all(json_object *json, struct capture_file *file, char **why)
{
	json_object *schema = json_find_typed(json, "schema", json_type_int);
	int r;

	if (!schema)
		return say_why(why, -EINVAL, "schema is missing or not a number");
	if (json_object_get_int(schema) != SCHEMA)
		return say_why(why, -EINVAL, "schema %d: this version reads %d",
			       json_object_get_int(schema), SCHEMA);
	r = read_view(json, file, why);
	if (!r)
		r = read_members(json, file, why);
	if (!r)
		r = read_stacks(json, file, why);
	if (!r)
		r = read_hardware(json, &file->hardware, why);
	if (!r)
		r = json_read_date(json, "spike.wall_time", &file->wall_ns, why);
	snprintf(file->wall_time, sizeof(file->wall_time), "%s",
		 json_text_of(json, "spike.wall_time"));
	if (file->expected_ns && file->expected_ns < file->time_ns)
		file->view.expected_ns = file->view.spike_ns - (file->time_ns - file->expected_ns);
	return r;
}

int capture_file_parse(struct capture_file *file, const char *text, size_t size, char **why)
{
	_cleanup_json_ json_object *json = NULL;
	int r = json_file_parse(&json, text, size, why);

	*file = (struct capture_file){ 0 };
	return r ? r : read_all(json, file, why);
}

static bool read_row(json_object *row, struct statistics *statistics)
{
	uint64_t after = statistics->nr ? statistics->rows[statistics->nr - 1].high_ns : 0;
	uint64_t low, high, count;

	if (!json_object_is_type(row, json_type_array) || json_object_array_length(row) != 3 ||
	    !json_number(json_object_array_get_idx(row, 0), &low) ||
	    !json_number(json_object_array_get_idx(row, 2), &count))
		return false;
	/* null: no upper end. */
	if (!json_object_array_get_idx(row, 1))
		high = UINT64_MAX;
	else if (!json_number(json_object_array_get_idx(row, 1), &high))
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
		return say_why(why, -EINVAL, "statistics.histogram is not a list%s",
			       rows ? ": too many rows" : "");
	for (size_t i = 0; i < nr; i++) {
		if (!read_row(json_object_array_get_idx(rows, i), statistics))
			return say_why(why, -EINVAL,
				       "statistics.histogram: row %zu is not [LOW, HIGH, COUNT] in "
				       "ascending order",
				       i);
	}
	return 0;
}

static int read_statistics(json_object *json, struct statistics *statistics, char **why)
{
	const struct json_field fields[] = {
		{ "count", JSON_NUMBER, &statistics->count, .required = true },
		{ "min_ns", JSON_NUMBER, &statistics->min_ns, .required = true },
		{ "avg_ns", JSON_NUMBER, &statistics->avg_ns, .required = true },
		{ "p50_ns", JSON_NUMBER, &statistics->p50_ns, .required = true },
		{ "p99_ns", JSON_NUMBER, &statistics->p99_ns, .required = true },
		{ "p99_9_ns", JSON_NUMBER, &statistics->p99_9_ns, .required = true },
		{ "max_ns", JSON_NUMBER, &statistics->max_ns, .required = true },
		{ "spikes", JSON_NUMBER, &statistics->spikes, .required = true },
		{ "unarmed", JSON_NUMBER, &statistics->unarmed, .required = true },
	};
	json_object *cpu = json_find_typed(json, "cpu", json_type_int);
	_cleanup_free_ char *field = NULL;
	int r = json_read_fields(json, fields, ARRAY_SIZE(fields), &field);

	if (r)
		return field ? say_why(why, r, "statistics.%s", field) : r;
	statistics->cpu = cpu ? json_object_get_int(cpu) : -1;
	return read_rows(json_find_typed(json, "histogram", json_type_array), statistics, why);
}

int capture_file_parse_statistics(struct statistics *statistics, const char *text, size_t size,
				  char **why)
{
	_cleanup_json_ json_object *json = NULL;
	int r = json_file_parse(&json, text, size, why);
	json_object *found = r ? NULL : json_find(json, "statistics");

	*statistics = (struct statistics){ 0 };
	return found ? read_statistics(found, statistics, why) : r;
}

int capture_file_read(struct capture_file *file, int dirfd, char **why)
{
	_cleanup_json_ json_object *json = NULL;
	int r = json_file_read(&json, dirfd, CAPTURE_FILE_NAME, why);

	*file = (struct capture_file){ 0 };
	return r ? r : read_all(json, file, why);
}

int capture_file_read_statistics(struct statistics *statistics, int dirfd, char **why)
{
	_cleanup_json_ json_object *json = NULL;
	int r = json_file_read(&json, dirfd, CAPTURE_FILE_NAME, why);
	json_object *found = r ? NULL : json_find(json, "statistics");

	*statistics = (struct statistics){ 0 };
	return found ? read_statistics(found, statistics, why) : r;
}
