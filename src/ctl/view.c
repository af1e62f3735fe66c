// SPDX-License-Identifier: GPL-2.0-only
#include "view.h"

#include <inttypes.h>
#include <json-c/json.h>
#include <stdarg.h>
#include <string.h>

#include "options.h"

#define SCHEMA 1
#define NS_PER_S UINT64_C(1000000000)
/* More than view_argv() adds of its own. */
#define MAX_WORDS 20

static void json_putp(json_object **object)
{
	json_object_put(*object);
}

/* A value by the names that lead to it; NULL if it is not there or of another type. */
static json_object *find(json_object *from, const char *path, json_type type)
{
	char name[32];

	while (*path) {
		size_t length = strcspn(path, ".");

		snprintf(name, sizeof(name), "%.*s", (int)length, path);
		if (!json_object_object_get_ex(from, name, &from))
			return NULL;
		path += length + (path[length] == '.');
	}
	return json_object_is_type(from, type) ? from : NULL;
}

static int read_time(json_object *json, const char *path, uint64_t *time_ns, char **why)
{
	json_object *value = find(json, path, json_type_int);

	if (!value || json_object_get_int64(value) < 0)
		return options_explain(why, -EINVAL, "%s is missing, or no time", path);
	*time_ns = (uint64_t)json_object_get_int64(value);
	return 0;
}

/* Events have the clock of the spike, Intel PT has perf's own: capture.json says what both were at
 * one moment. */
static int read_spike_time(json_object *json, struct view_capture *capture, char **why)
{
	uint64_t monotonic_ns, perf_ns;
	int r = read_time(json, "spike.time_ns", &capture->spike_ns, why);

	if (r || capture->kind != VIEW_PT)
		return r;
	r = read_time(json, "recorder.clock.monotonic_ns", &monotonic_ns, why);
	if (!r)
		r = read_time(json, "recorder.clock.perf_ns", &perf_ns, why);
	if (!r)
		capture->spike_ns += perf_ns - monotonic_ns;
	return r;
}

static int read_kind(json_object *json, enum view_kind *kind, char **why)
{
	json_object *value = find(json, "recorder.kind", json_type_string);
	const char *name = value ? json_object_get_string(value) : NULL;

	if (!name)
		return options_explain(why, -EINVAL, "recorder.kind is missing, or no name");
	if (!strcmp(name, "pt"))
		*kind = VIEW_PT;
	else if (!strcmp(name, "events"))
		*kind = VIEW_EVENTS;
	else
		return options_explain(why, -EINVAL,
				       "recorder.kind '%s': this version does not know it", name);
	return 0;
}

/* Captures tell these since there are any, but nothing depends on them. */
static uint64_t read_duration(json_object *json, const char *path)
{
	json_object *value = find(json, path, json_type_int);

	return value && json_object_get_int64(value) > 0 ? (uint64_t)json_object_get_int64(value)
							 : 0;
}

int view_read(struct view_capture *capture, const char *text, char **why)
{
	_cleanup_(json_putp) json_object *json = NULL;
	enum json_tokener_error error;
	json_object *value;
	int r;

	json = json_tokener_parse_verbose(text, &error);
	if (!json)
		return options_explain(why, -EINVAL, "not JSON: %s",
				       json_tokener_error_desc(error));
	value = find(json, "schema", json_type_int);
	if (!value)
		return options_explain(why, -EINVAL, "schema is missing, or no number");
	if (json_object_get_int(value) != SCHEMA)
		return options_explain(why, -EINVAL, "schema %d: this version reads %d",
				       json_object_get_int(value), SCHEMA);
	r = read_kind(json, &capture->kind, why);
	if (!r)
		r = read_spike_time(json, capture, why);
	if (r)
		return r;
	value = find(json, "spike.cpu", json_type_int);
	if (!value)
		return options_explain(why, -EINVAL, "spike.cpu is missing, or no number");
	capture->cpu = json_object_get_int(value);
	capture->latency_ns = read_duration(json, "spike.latency_ns");
	capture->history_ns = read_duration(json, "history_ns");
	value = find(json, "recorder.freeze", json_type_string);
	/* Those that were poked, and not of a spike, are not sampled. */
	capture->sampled = capture->kind == VIEW_PT && capture->cpu >= 0 && value &&
			   !strcmp(json_object_get_string(value), "sample");
	return 0;
}

struct words {
	char **argv;
	size_t nr;
	int r;
};

/* What fails is kept, and checked at the end. */
static void _printf_(2, 3) add(struct words *words, const char *format, ...)
{
	va_list args;

	if (words->r)
		return;
	va_start(args, format);
	if (vasprintf(&words->argv[words->nr], format, args) < 0) {
		words->argv[words->nr] = NULL;
		words->r = -ENOMEM;
	} else {
		words->nr++;
	}
	va_end(args);
}

/* The trace ends by itself: until it stood still there is only the trigger, or the skid. Events
 * after the spike are those of perf-poke itself, and are of the CPU's next work. */
static void add_window(struct words *words, const struct view_capture *capture, uint64_t window_ns)
{
	uint64_t end = capture->spike_ns;
	uint64_t begin = end > window_ns ? end - window_ns : 0;

	add(words, "--time");
	if (capture->kind == VIEW_PT)
		add(words, "%" PRIu64 ".%09" PRIu64 ",", begin / NS_PER_S, begin % NS_PER_S);
	else
		add(words, "%" PRIu64 ".%09" PRIu64 ",%" PRIu64 ".%09" PRIu64, begin / NS_PER_S,
		    begin % NS_PER_S, end / NS_PER_S, end % NS_PER_S);
}

/* What --call-ret-trace and --insn-trace are short for, but for the sample's line, of which they
 * leave nothing: they change all kinds of events, and perf warns of a field asked for after that.
 */
static void add_trace_by_kind(struct words *words, enum view_insns insns)
{
	const char *fields = "-ip,-addr,-event,-period,-dso,+callindent,+flags";

	if (insns == VIEW_INSNS_DISASM)
		fields = "-event,-period,+disasm";
	else if (insns != VIEW_INSNS_NONE)
		fields = "-event,-period,+insn";
	add(words, "--itrace=%s", insns == VIEW_INSNS_NONE ? "crewp" : "i0nse");
	add(words, "-F");
	add(words, "hw:%s", fields);
	add(words, "-F");
	add(words, "synth:%s", fields);
}

static void add_trace(struct words *words, const struct view_capture *capture,
		      enum view_insns insns)
{
	if (capture->sampled) {
		add_trace_by_kind(words, insns);
	} else if (insns == VIEW_INSNS_NONE) {
		add(words, "--call-ret-trace");
		/* That almost all of it is the kernel is known. */
		add(words, "-F");
		add(words, "-dso");
	} else {
		add(words, "--insn-trace%s", insns == VIEW_INSNS_DISASM ? "=disasm" : "");
	}
	if (insns == VIEW_INSNS_XED)
		add(words, "--xed");
}

int view_argv(const struct view_capture *capture, const struct view_options *options,
	      const char *perf, const char *data, char ***argv)
{
	uint64_t window_ns = capture->kind == VIEW_PT ? VIEW_WINDOW_PT_NS : VIEW_WINDOW_EVENTS_NS;
	struct words words = { 0 };
	size_t nr_rest = 0;

	while (options->rest && options->rest[nr_rest])
		nr_rest++;
	words.argv = calloc(MAX_WORDS + nr_rest, sizeof(*words.argv));
	if (!words.argv)
		return -ENOMEM;
	add(&words, "%s", perf);
	add(&words, "script");
	add(&words, "-i");
	add(&words, "%s", data);
	add(&words, "--ns");
	if (capture->cpu >= 0 && !options->all_cpus) {
		add(&words, "-C");
		add(&words, "%d", capture->cpu);
	}
	if (!options->all)
		add_window(&words, capture, options->window_ns ?: window_ns);
	if (capture->kind == VIEW_PT)
		add_trace(&words, capture, options->insns);
	for (size_t i = 0; i < nr_rest; i++)
		add(&words, "%s", options->rest[i]);
	if (words.r)
		view_free_argv(&words.argv);
	else
		*argv = words.argv;
	return words.r;
}

void view_free_argv(char ***argv)
{
	for (char **word = *argv; word && *word; word++)
		free(*word);
	free(*argv);
	*argv = NULL;
}
