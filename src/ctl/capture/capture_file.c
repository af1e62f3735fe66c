// SPDX-License-Identifier: GPL-2.0-only
#include "capture/capture_file.h"

#include <json-c/json.h>
#include <limits.h>
#include <string.h>
#include <time.h>

#include "capture/json_strict.h"
#include "cli/options.h"
#include "clock.h"
#include "cpulist.h"
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

/* A value by the names that lead to it; NULL if it is not there, or null. */
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

/* Numbers that do not fit are the largest that does to json-c: that one is none either. */
static bool get_number(json_object *json, const char *path, uint64_t *number)
{
	json_object *value = find(json, path, json_type_int);
	int64_t found = value ? json_object_get_int64(value) : -1;

	if (found < 0 || found == INT64_MAX)
		return false;
	*number = (uint64_t)found;
	return true;
}

static int read_time(json_object *json, const char *path, uint64_t *time_ns, char **why)
{
	if (!get_number(json, path, time_ns))
		return options_explain(why, -EINVAL, "%s is missing, or no time", path);
	return 0;
}

/* Events have the clock of the spike, Intel PT has perf's own: capture.json says what both were at
 * one moment. */
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
	/* Earlier versions wrote 0 where TSC was not perf's clock. */
	file->view.no_times = !r && !perf_ns;
	if (r || file->view.no_times)
		return r;
	if (file->time_ns + perf_ns < monotonic_ns)
		return options_explain(why, -EINVAL,
				       "recorder.clock: the spike is before the clock began");
	file->view.spike_ns = file->time_ns + perf_ns - monotonic_ns;
	return 0;
}

static int read_kind(json_object *json, enum view_kind *kind, char **why)
{
	json_object *value = find(json, "recorder.kind", json_type_string);
	const char *name = value ? json_object_get_string(value) : NULL;

	if (!name)
		return options_explain(why, -EINVAL, "recorder.kind is missing, or no name");
	for (*kind = 0; *kind < VIEW_NR; ++*kind) {
		if (!strcmp(name, view_kind_name(*kind)))
			return 0;
	}
	return options_explain(why, -EINVAL, "recorder.kind '%.32s': this version does not know it",
			       name);
}

static int read_cpu(json_object *json, int *cpu, char **why)
{
	json_object *value = find(json, "spike.cpu", json_type_int);

	if (!value)
		return options_explain(why, -EINVAL, "spike.cpu is missing, or no number");
	*cpu = json_object_get_int(value);
	if (*cpu < -1 || *cpu >= CPULIST_MAX_CPUS)
		return options_explain(why, -EINVAL, "spike.cpu %d: there is no such CPU", *cpu);
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
	/* Not those that were poked, or of two CPUs. */
	if (view->kind != VIEW_PT || view->cpu < 0 ||
	    (ran && json_object_get_int(ran) != view->cpu))
		return 0;
	view->sampled = !strcmp(freeze, "sample");
	view->ends_at_spike = view->sampled || !strcmp(freeze, "pause");
	return 0;
}

static int read_numbers(json_object *json, struct capture_file *file, char **why)
{
	const struct {
		const char *path;
		uint64_t *number;
	} rows[] = {
		{ "spike.sequence", &file->sequence },
		{ "spike.latency_ns", &file->view.latency_ns },
		{ "spike.expected_ns", &file->expected_ns },
		{ "spike.actual_ns", &file->actual_ns },
		{ "history_ns", &file->view.history_ns },
		{ "threshold_ns", &file->threshold_ns },
		{ "skid_ns", &file->skid_ns },
		{ "events", &file->events },
		{ "lost", &file->lost },
	};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		if (find_any(json, rows[i].path) && !get_number(json, rows[i].path, rows[i].number))
			return options_explain(why, -EINVAL, "%s is not a number from 0 on",
					       rows[i].path);
	}
	return 0;
}

static int read_tasks(json_object *json, struct capture_file *file, char **why)
{
	const struct {
		const char *path;
		int *id;
	} rows[] = { { "spike.pid", &file->pid }, { "spike.tid", &file->tid } };

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		json_object *value = find_any(json, rows[i].path);

		if (!value)
			continue;
		*rows[i].id =
			json_object_is_type(value, json_type_int) ? json_object_get_int(value) : -1;
		if (*rows[i].id < 0 || *rows[i].id == INT_MAX)
			return options_explain(why, -EINVAL, "%s is no task", rows[i].path);
	}
	return 0;
}

static int read_flags(json_object *json, struct capture_file *file, char **why)
{
	const struct {
		const char *path;
		bool *flag;
	} rows[] = { { "spike.poked", &file->poked }, { "spike.idle", &file->idle } };

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		json_object *value = find_any(json, rows[i].path);

		if (value && !json_object_is_type(value, json_type_boolean))
			return options_explain(why, -EINVAL, "%s is neither true nor false",
					       rows[i].path);
		*rows[i].flag = value && json_object_get_boolean(value);
	}
	return 0;
}

static int read_texts(json_object *json, struct capture_file *file, char **why)
{
	const struct {
		const char *path;
		char *text;
		size_t size;
	} rows[] = {
		{ "spike.comm", file->comm, sizeof(file->comm) },
		{ "spike.function", file->function, sizeof(file->function) },
		{ "spike.function_address", file->function_address,
		  sizeof(file->function_address) },
		{ "spike.trigger", file->trigger, sizeof(file->trigger) },
		{ "kernel.release", file->release, sizeof(file->release) },
		{ "kernel.version", file->version, sizeof(file->version) },
		{ "machine.hostname", file->hostname, sizeof(file->hostname) },
		{ "machine.cpu", file->model, sizeof(file->model) },
	};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		json_object *value = find_any(json, rows[i].path);

		if (value && !json_object_is_type(value, json_type_string))
			return options_explain(why, -EINVAL, "%s is no text", rows[i].path);
		if (value)
			snprintf(rows[i].text, rows[i].size, "%s", json_object_get_string(value));
	}
	return 0;
}

/* As 2026-11-21T07:01:43.881833Z */
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
	/* Six digits: %6u takes blanks and signs. */
	if (end && end[0] == '.' && strspn(end + 1, "0123456789") == 6)
		sscanf(end + 1, "%6u%n", &us, &length);
	seconds = length == 6 ? timegm(&tm) : -1;
	if (seconds < 0 || strcmp(end + 7, "Z"))
		return options_explain(why, -EINVAL, "spike.wall_time is no date");
	file->wall_ns = (uint64_t)seconds * NSEC_PER_SEC + us * UINT64_C(1000);
	snprintf(file->wall_time, sizeof(file->wall_time), "%s", text);
	return 0;
}

static int read_all(json_object *json, struct capture_file *file, char **why)
{
	json_object *schema = find(json, "schema", json_type_int);
	int r;

	if (!schema)
		return options_explain(why, -EINVAL, "schema is missing, or no number");
	if (json_object_get_int(schema) != SCHEMA)
		return options_explain(why, -EINVAL, "schema %d: this version reads %d",
				       json_object_get_int(schema), SCHEMA);
	r = read_view(json, file, why);
	if (!r)
		r = read_numbers(json, file, why);
	if (!r)
		r = read_tasks(json, file, why);
	if (!r)
		r = read_flags(json, file, why);
	if (!r)
		r = read_texts(json, file, why);
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
		return options_explain(why, -EINVAL, "larger than %s, no " CAPTURE_FILE_NAME " is",
				       FORMAT_SIZE(CAPTURE_FILE_MAX_SIZE));
	if (memchr(text, '\0', size))
		return options_explain(why, -EINVAL, "not JSON: it has a NUL");
	/* That it ends is told by the NUL behind it. */
	*json = json_tokener_parse_ex(tokener, text, (int)size + 1);
	error = json_tokener_get_error(tokener);
	if (error != json_tokener_success)
		return options_explain(why, -EINVAL, "not JSON: %s",
				       error == json_tokener_continue
					       ? "it is cut off"
					       : json_tokener_error_desc(error));
	end = text + json_tokener_get_parse_end(tokener);
	if (end < text + size && end[strspn(end, " \t\r\n")])
		return options_explain(why, -EINVAL, "not JSON: it goes on after its end");
	wrong = json_strict(text);
	if (wrong)
		return options_explain(why, -EINVAL, "not JSON: it has %s", wrong);
	return 0;
}

int capture_file_parse(struct capture_file *file, const char *text, size_t size, char **why)
{
	_cleanup_(json_putp) json_object *json = NULL;
	int r = parse_json(&json, text, size, why);

	*file = (struct capture_file){ 0 };
	return r ? r : read_all(json, file, why);
}

/* A number in a row of the histogram. */
static bool get_item(json_object *row, size_t i, uint64_t *number)
{
	json_object *value = json_object_array_get_idx(row, i);
	int64_t found =
		json_object_is_type(value, json_type_int) ? json_object_get_int64(value) : -1;

	*number = (uint64_t)found;
	return found >= 0 && found < INT64_MAX;
}

static bool read_row(json_object *row, struct statistics *statistics)
{
	uint64_t after = statistics->nr ? statistics->rows[statistics->nr - 1].high_ns : 0;
	uint64_t low, high, count;

	if (!json_object_is_type(row, json_type_array) || json_object_array_length(row) != 3 ||
	    !get_item(row, 0, &low) || !get_item(row, 2, &count))
		return false;
	/* null: it has no end. */
	if (!json_object_array_get_idx(row, 1))
		high = UINT64_MAX;
	else if (!get_item(row, 1, &high))
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
		return options_explain(why, -EINVAL, "statistics.histogram is no list%s",
				       rows ? " of so few rows" : "");
	for (size_t i = 0; i < nr; i++) {
		if (!read_row(json_object_array_get_idx(rows, i), statistics))
			return options_explain(
				why, -EINVAL,
				"statistics.histogram: row %zu is not [LOW, HIGH, COUNT] in "
				"rising order",
				i);
	}
	return 0;
}

static int read_statistics(json_object *json, struct statistics *statistics, char **why)
{
	const struct {
		const char *path;
		uint64_t *number;
	} rows[] = {
		{ "statistics.count", &statistics->count },
		{ "statistics.min_ns", &statistics->min_ns },
		{ "statistics.avg_ns", &statistics->avg_ns },
		{ "statistics.p50_ns", &statistics->p50_ns },
		{ "statistics.p99_ns", &statistics->p99_ns },
		{ "statistics.p99_9_ns", &statistics->p99_9_ns },
		{ "statistics.max_ns", &statistics->max_ns },
		{ "statistics.spikes", &statistics->spikes },
		{ "statistics.unarmed", &statistics->unarmed },
	};
	json_object *cpu;

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		if (!get_number(json, rows[i].path, rows[i].number))
			return options_explain(why, -EINVAL, "%s is not a number from 0 on",
					       rows[i].path);
	}
	cpu = find(json, "statistics.cpu", json_type_int);
	statistics->cpu = cpu ? json_object_get_int(cpu) : -1;
	return read_rows(find(json, "statistics.histogram", json_type_array), statistics, why);
}

int capture_file_parse_statistics(struct statistics *statistics, const char *text, size_t size,
				  char **why)
{
	_cleanup_(json_putp) json_object *json = NULL;
	int r = parse_json(&json, text, size, why);

	*statistics = (struct statistics){ 0 };
	if (r || !find_any(json, "statistics"))
		return r;
	return read_statistics(json, statistics, why);
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
		return options_explain(why, -EINVAL, "it is empty");
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
