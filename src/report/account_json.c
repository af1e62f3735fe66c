// SPDX-License-Identifier: GPL-2.0-only
#include "account.h"

#include <string.h>

#include "utf8.h"
#include "util.h"

static void add_number(json_object *object, const char *key, uint64_t value)
{
	json_object_object_add(object, key, json_object_new_uint64(value));
}

/* NULL and an empty one become null. */
static void add_string(json_object *object, const char *key, const char *value)
{
	_cleanup_free_ char *copy = value && *value ? strdup(value) : NULL;

	json_object_object_add(object, key,
			       copy ? json_object_new_string(utf8_repair(copy)) : NULL);
}

static const char *name_of(const struct account *account, uint32_t name)
{
	return names_get(account->spans->names, name);
}

static json_object *new_spike(const struct account *account)
{
	const struct facts *facts = &account->facts;
	json_object *object = json_object_new_object();

	json_object_object_add(object, "cpu", json_object_new_int(facts->cpu));
	json_object_object_add(object, "poked", json_object_new_boolean(facts->poked));
	add_number(object, "latency_ns", facts->latency_ns);
	add_number(object, "threshold_ns", facts->threshold_ns);
	add_number(object, "expected_ns", facts->expected_ns);
	add_number(object, "actual_ns", facts->actual_ns);
	add_number(object, "time_ns", facts->time_ns);
	add_string(object, "function", facts->function);
	add_string(object, "wall_time", facts->wall_time);
	json_object_object_add(object, "idle", json_object_new_boolean(facts->idle));
	json_object_object_add(object, "pid", json_object_new_int(facts->pid));
	json_object_object_add(object, "tid", json_object_new_int(facts->tid));
	add_string(object, "comm", facts->comm);
	return object;
}

/* Innermost first. */
static json_object *new_path(const struct account *account, uint32_t span)
{
	const struct lane *code = &account->spans->lanes[LANE_CODE];
	json_object *list = json_object_new_array();

	for (; span != SPAN_NONE; span = code->spans[span].parent)
		json_object_array_add(
			list, json_object_new_string(name_of(account, code->spans[span].name)));
	return list;
}

static json_object *new_cause(const struct account *account)
{
	const struct cause *cause = &account->cause;
	const struct lane *code = &account->spans->lanes[LANE_CODE];
	json_object *object = json_object_new_object();

	add_string(object, "kind", cause_kind_name(cause->kind));
	add_string(object, "name", name_of(account, cause->name));
	add_number(object, "time_ns", cause->time_ns);
	add_number(object, "count", cause->count);
	add_string(object, "mostly", name_of(account, cause->mostly));
	json_object_object_add(object, "callers",
			       new_path(account, cause->span == SPAN_NONE
							 ? SPAN_NONE
							 : code->spans[cause->span].parent));
	json_object_object_add(object, "instructions",
			       cause->insns ? json_object_new_uint64(cause->insns) : NULL);
	json_object_object_add(object, "cycles",
			       cause->cycles ? json_object_new_uint64(cause->cycles) : NULL);
	return object;
}

static json_object *new_usages(const struct account *account, const struct usage *usages, size_t nr)
{
	json_object *list = json_object_new_array();

	for (size_t i = 0; i < nr; i++) {
		json_object *object = json_object_new_object();

		add_string(object, "kind", span_kind_name(usages[i].kind));
		add_string(object, "name", name_of(account, usages[i].name));
		add_number(object, "time_ns", usages[i].time_ns);
		add_number(object, "late_ns", usages[i].late_ns);
		add_number(object, "count", usages[i].count);
		add_number(object, "longest_ns", usages[i].longest_ns);
		json_object_array_add(list, object);
	}
	return list;
}

static json_object *new_functions(const struct account *account, size_t top)
{
	const struct findings *findings = &account->findings;
	bool times = !account->facts.no_times;
	json_object *list = json_object_new_array();

	for (size_t i = 0; i < findings->nr_functions && i < top; i++) {
		const struct function *function = &findings->functions[i];
		json_object *object = json_object_new_object();

		add_string(object, "name", name_of(account, function->name));
		json_object_object_add(object, "user", json_object_new_boolean(function->user));
		add_number(object, times ? "self_ns" : "self_instructions", function->self_ns);
		add_number(object, times ? "total_ns" : "total_instructions", function->total_ns);
		if (times)
			add_number(object, "late_ns", function->late_ns);
		add_number(object, "calls", function->count);
		json_object_array_add(list, object);
	}
	return list;
}

/* The times are null where the trace has none. */
static json_object *new_window(const struct account *account)
{
	const struct findings *findings = &account->findings;
	const struct {
		const char *key;
		uint64_t time_ns;
	} rows[] = {
		{ "asked_ns", account->window_ns },    { "begin_ns", findings->begin },
		{ "end_ns", findings->end },	       { "late_begin_ns", findings->late_begin },
		{ "late_end_ns", findings->late_end },
	};
	json_object *window = json_object_new_object();

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++)
		json_object_object_add(
			window, rows[i].key,
			account->facts.no_times ? NULL : json_object_new_uint64(rows[i].time_ns));
	if (account->facts.no_times)
		add_number(window, "instructions", findings->end - findings->begin);
	return window;
}

/* What takes time, or null where there is none. */
static void add_tables(json_object *object, const struct account *account, size_t top)
{
	const struct findings *findings = &account->findings;
	bool times = !account->facts.no_times;

	json_object_object_add(object, "budget",
			       times ? new_usages(account, findings->budget, findings->nr_budget)
				     : NULL);
	json_object_object_add(
		object, "irqs_off",
		times && account->spans->has_irqs_off
			? new_usages(account, findings->irqs_off, findings->nr_irqs_off)
			: NULL);
	json_object_object_add(object, "functions",
			       account->spans->has_functions ? new_functions(account, top) : NULL);
}

json_object *account_json(const struct account *account, size_t top)
{
	const struct findings *findings = &account->findings;
	json_object *object = json_object_new_object();

	add_string(object, "type", "report");
	add_string(object, "capture", account->capture);
	add_string(object, "sentence", account->sentence);
	add_string(object, "source",
		   account->facts.perf ? "perf"
		   : account->facts.pt ? "pt"
				       : "events");
	json_object_object_add(object, "spike", new_spike(account));
	json_object_object_add(object, "cause", new_cause(account));
	json_object_object_add(object, "window", new_window(account));
	add_tables(object, account, top);
	json_object_object_add(object, "path", new_path(account, findings->path));
	add_number(object, "events_lost", account->facts.lost);
	add_number(object, "decoding_errors", account->errors);
	return object;
}
