// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
#include "capture/span_ends.h"

#include <string.h>

#include "text.h"
#include "trigger/trigger.h"

#define NAME_MAX_SIZE 256

static void add_function(struct json_object *list, const char *prefix, const char *name)
{
	char text[NAME_MAX_SIZE];

	snprintf(text, sizeof(text), "%s%s", prefix, name);
	json_object_array_add(list, json_object_new_string(text));
}

/* Removes the offset of SYMBOL+OFFSET. */
static void add_symbol(struct json_object *list, const char *symbol)
{
	char text[NAME_MAX_SIZE];
	char *plus;

	snprintf(text, sizeof(text), "%s", symbol);
	plus = strrchr(text, '+');
	if (plus && plus[1] >= '0' && plus[1] <= '9')
		*plus = '\0';
	if (*text < '0' || *text > '9')
		add_function(list, "", text);
}

/* A tracepoint calls one of these functions, depending on what else is attached; that of a system
 * call is in the call's function. Returns whether it is at the return. */
static bool add_tp(struct json_object *list, const struct span_point *point)
{
	static const char *const prefixes[] = { "__traceiter_", "__bpf_trace_", "perf_trace_",
						"trace_event_raw_event_" };
	static const char *const calls[] = { "sys_enter_", "sys_exit_" };
	const char *name = point->parts[1];

	for (size_t i = 0; i < ARRAY_SIZE(calls) && !strcmp(point->parts[0], "syscalls"); i++) {
		if (has_prefix(name, calls[i])) {
			add_function(list, "__x64_sys_", name + strlen(calls[i]));
			return i;
		}
	}
	for (size_t i = 0; i < ARRAY_SIZE(prefixes); i++)
		add_function(list, prefixes[i], name);
	return false;
}

static struct json_object *end_json(const struct span_point *point, bool is_exit)
{
	struct json_object *json = json_object_new_object();
	struct json_object *list = json_object_new_array();
	bool at_return = point->kind == SPAN_URETPROBE || (point->kind == SPAN_FN && is_exit);
	char event[NAME_MAX_SIZE];

	switch (point->kind) {
	case SPAN_TP:
		at_return = add_tp(list, point);
		snprintf(event, sizeof(event), "%s:%s", point->parts[0], point->parts[1]);
		json_object_object_add(json, "event", json_object_new_string(event));
		break;
	case SPAN_FN:
		add_function(list, "", point->parts[0]);
		break;
	case SPAN_UPROBE:
	case SPAN_URETPROBE:
		add_symbol(list, point->parts[1]);
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

	if (!text || span_parse(&span, text, &quiet))
		return NULL;
	json = json_object_new_object();
	json_object_object_add(json, "by", json_object_new_string(by[span.by]));
	json_object_object_add(json, "entry", end_json(&span.entry, false));
	json_object_object_add(json, "exit", end_json(&span.exit, true));
	return json;
}
