// SPDX-License-Identifier: GPL-2.0-only
#include "session/session_internal.h"

#include <string.h>

static void json_add_numbers(json_object *object, const char *key, const int *numbers, size_t nr)
{
	json_object *list = json_object_new_array();

	for (size_t i = 0; i < nr; i++)
		json_object_array_add(list, json_object_new_int(numbers[i]));
	json_add(object, key, list);
}

json_object *json_armed_line(const int *cpus, size_t nr, const struct perf_poke_opts *opts,
			     const char *session, const char *recorder, const char *workload,
			     const char *delivery)
{
	json_object *object = json_typed_object("armed");
	json_object *targets = json_object_new_array();
	json_object *triggers = json_object_new_object();

	json_add_text(object, "session", session);
	json_add_numbers(object, "cpus", cpus, nr);
	json_add_u64(object, "threshold_ns", opts->threshold_ns);
	json_add_text(object, "function", opts->function ?: "any");
	json_add_text(object, "recorder", recorder);
	json_add_text(object, "workload", workload);
	json_add_text(object, "delivery", delivery);
	for (size_t i = 0; i < opts->nr_targets; i++)
		json_object_array_add(targets, json_object_new_int(opts->targets[i].pid));
	json_add(object, "targets", targets);
	if (!opts->nr_triggers)
		json_add_u64(triggers, kind_display_name(PERF_POKE_TRIGGER_IRQ),
			     opts->threshold_ns);
	for (size_t i = 0; i < opts->nr_triggers; i++) {
		const struct perf_poke_trigger *trigger = &opts->triggers[i];

		if (kind_has_threshold_ns(trigger->kind))
			json_add_u64(triggers, kind_display_name(trigger->kind),
				     trigger->threshold_ns ?: opts->threshold_ns);
		else
			json_add(triggers, kind_display_name(trigger->kind), NULL);
	}
	json_add(object, "triggers", triggers);
	return object;
}

json_object *json_detached_line(const char *session, int pid, const char *log)
{
	json_object *object = json_typed_object("detached");

	json_add_text(object, "session", session);
	json_add_int(object, "pid", pid);
	json_add_text(object, "log", log);
	return object;
}

/* Without lists, which are long: stacks, and the histogram. */
static void json_add_scalars(json_object *object, json_object *fields)
{
	if (!fields)
		return;
	json_object_object_foreach (fields, key, value) {
		if (!json_object_is_type(value, json_type_array) &&
		    !json_object_is_type(value, json_type_object))
			json_add(object, key, json_object_get(value));
	}
}

json_object *json_capture_line(const struct perf_poke_capture *capture)
{
	_cleanup_free_ char *text = perf_poke__capture_json(capture);
	json_object *fields = text ? json_tokener_parse(text) : NULL;
	json_object *object = json_typed_object("capture");

	json_add_text(object, "error", capture->error ? strerror(-capture->error) : NULL);
	json_add_scalars(object, fields);
	json_add_scalars(object, json_object_object_get(fields, "spike"));
	json_object_put(fields);
	return object;
}

static void json_add_statistics(json_object *object, const struct perf_poke_stats *stats)
{
	json_add_u64(object, "count", stats->count);
	json_add_u64(object, "min_ns", stats->min_ns);
	json_add_u64(object, "avg_ns", stats->count ? stats->sum_ns / stats->count : 0);
	json_add_u64(object, "max_ns", stats->max_ns);
	json_add_u64(object, "spikes", stats->spikes);
	json_add_u64(object, "unarmed", stats->unarmed);
}

/* Entries and exits of spans that were not measured. */
static void json_add_unpaired(json_object *object, const struct perf_poke_stats *stats)
{
	json_add_u64(object, "not_entered", stats->not_entered);
	json_add_u64(object, "reentered", stats->reentered);
	json_add_u64(object, "thread_died", stats->thread_died);
	json_add_u64(object, "no_room", stats->no_room);
}

static void json_add_percentiles(json_object *object, uint64_t p50_ns, uint64_t p99_ns,
				 uint64_t p999_ns)
{
	json_add_u64(object, "p50_ns", p50_ns);
	json_add_u64(object, "p99_ns", p99_ns);
	json_add_u64(object, "p99_9_ns", p999_ns);
}

static json_object *json_new_result_row(const struct result_row *row)
{
	json_object *object = json_object_new_object();
	json_object *histogram = json_object_new_array();

	if (row->cpu != ALL_CPUS)
		json_add_int(object, "cpu", row->cpu);
	json_add_statistics(object, &row->stats);
	json_add_percentiles(object, row->p50_ns, row->p99_ns, row->p999_ns);
	for (size_t i = 0; i < row->nr_buckets; i++) {
		const struct perf_poke_bucket *bucket = &row->buckets[i];

		json_object_array_add(
			histogram, json_bucket_row(bucket->low_ns, bucket->high_ns, bucket->count));
	}
	json_add(object, "histogram", histogram);
	return object;
}

static json_object *json_new_perf_result(const struct result_perf *perf)
{
	json_object *object = json_object_new_object();
	json_object *command = json_object_new_array();
	json_object *data = json_object_new_array();

	json_add_int(object, "pid", perf->pid);
	for (char **word = perf->command; *word; word++)
		json_object_array_add(command, json_text_value(*word));
	json_add(object, "command", command);
	json_add_int(object, "status", perf->status);
	for (size_t i = 0; i < perf->data.nr; i++)
		json_object_array_add(data, json_text_value(perf->data.files[i].path));
	json_add(object, "data", data);
	return object;
}

static void json_add_result_kind(json_object *object, const struct results *results, size_t kind)
{
	json_object *cpus = json_object_new_array();

	for (size_t i = 0; i < results->nr_rows; i++)
		json_object_array_add(cpus, json_new_result_row(&results->kinds[kind].rows[i]));
	json_add(object, "cpus", cpus);
	json_add(object, "all", json_new_result_row(&results->kinds[kind].all));
}

json_object *json_removed_line(const char *path)
{
	json_object *object = json_typed_object("removed");

	json_add_text(object, "path", path);
	return object;
}

/* In the order in which they were taken. */
static json_object *json_new_kept_captures(const struct results *results)
{
	json_object *list = json_object_new_array();

	for (size_t i = 0; i < results->nr_captures; i++) {
		const struct perf_poke_capture *capture = &results->captures[i];
		const struct perf_poke_spike *spike = capture->spike;
		json_object *object = json_object_new_object();

		json_add_u64(object, "number", results_capture_number(results, i));
		json_add_text(object, "path", capture->path);
		json_add_int(object, "cpu", spike->cpu);
		json_add_u64(object, "latency_ns", spike->latency_ns);
		json_add_text(object, "trigger",
			      spike->poked ? NULL : kind_display_name(spike->kind));
		json_object_array_add(list, object);
	}
	return list;
}

json_object *json_summary_line(const struct results *results)
{
	json_object *object = json_typed_object("summary");
	json_object *triggers = json_object_new_object();

	json_add_result_kind(object, results, PERF_POKE_TRIGGER_IRQ);
	for (size_t kind = 1; kind < KINDS_MAX; kind++) {
		json_object *one;

		if (!results->kinds[kind].rows)
			continue;
		one = json_object_new_object();
		json_add_result_kind(one, results, kind);
		if (kind == PERF_POKE_TRIGGER_SPAN)
			json_add_unpaired(one, &results->kinds[kind].all.stats);
		json_add(triggers, kind_display_name(kind), one);
	}
	json_add(object, "triggers", triggers);
	if (results->kinds[PERF_POKE_TRIGGER_INTERRUPTION].rows)
		json_add(object, "sources",
			 json_new_sources(results->sources.rows, results->sources.nr));
	json_add_u64(object, "missed", results->kinds[PERF_POKE_TRIGGER_IRQ].all.stats.missed);
	json_add_u64(object, "captures", results_count_taken(results));
	json_add(object, "kept", json_new_kept_captures(results));
	json_add_u64(object, "failed", results->nr_failed);
	json_add_u64(object, "elapsed_ns", results->elapsed_ns);
	if (results->known) {
		json_add_u64(object, "known", results->nr_known);
		json_add_u64(object, "new", results->nr_new);
		json_add_u64(object, "unjudged", results->nr_unjudged);
	}
	if (results->has_program)
		json_add_u64(object, "program_exit_code", (uint64_t)results->program_code);
	if (results->perf.pid)
		json_add(object, "perf", json_new_perf_result(&results->perf));
	return object;
}

json_object *json_capability_line(const struct perf_poke_capability *capability)
{
	json_object *object = json_typed_object("capability");

	json_add_text(object, "name", capability->name);
	json_add_bool(object, "have", capability->have);
	json_add_bool(object, "unknown", capability->unknown);
	json_add_bool(object, "required", capability->required);
	json_add_text(object, "purpose", capability->purpose);
	json_add_text(object, "detail", capability->detail);
	json_add_text(object, "remedy", capability->remedy);
	return object;
}

json_object *json_check_line(bool can_start)
{
	json_object *object = json_typed_object("check");

	json_add_bool(object, "can_start", can_start);
	return object;
}

static void json_add_session_kind(json_object *object, const struct perf_poke_session *session,
				  const struct perf_poke_session_kind *kind)
{
	json_object *list = json_object_new_array();
	json_object *all = json_object_new_object();

	for (size_t i = 0; i < session->nr_cpus; i++) {
		json_object *cpu = json_object_new_object();

		json_add_int(cpu, "cpu", session->cpus[i]);
		json_add_statistics(cpu, kind->cpu_stats[i]);
		json_add_u64(cpu, "last_ns", kind->cpu_stats[i]->last_ns);
		json_add_u64(cpu, "p99_ns", kind->cpu_p99_ns[i]);
		json_object_array_add(list, cpu);
	}
	json_add(object, "cpus", list);
	json_add_statistics(all, kind->stats);
	json_add_u64(all, "last_ns", kind->stats->last_ns);
	json_add_percentiles(all, kind->p50_ns, kind->p99_ns, kind->p999_ns);
	json_add(object, "all", all);
	if (kind->kind == PERF_POKE_TRIGGER_SPAN)
		json_add_unpaired(object, kind->stats);
}

json_object *json_session_line(const struct perf_poke_session *session)
{
	/* Sessions killed early or of another version have none. */
	static const struct perf_poke_stats nothing;
	static const struct perf_poke_session_kind none = { .stats = &nothing };
	json_object *triggers = json_object_new_object();
	json_object *object = json_typed_object("session");

	json_add_text(object, "session", session->name);
	json_add_bool(object, "alive", session->alive);
	json_add_int(object, "pid", session->pid);
	json_add_u64(object, "armed_for_ns", session->armed_for_ns);
	json_add_known(object, "threshold_ns", session->threshold_ns, 0);
	json_add_name(object, "function", session->function);
	json_add_name(object, "recorder", session->recorder);
	json_add_name(object, "freeze", session->freeze);
	json_add_name(object, "delivery", session->delivery);
	json_add_name(object, "workload", session->workload);
	json_add_numbers(object, "targets", session->targets, session->nr_targets);
	json_add_u64(object, "pokes", session->pokes);
	json_add_u64(object, "merged", session->merged);
	json_add_session_kind(object, session, session->nr_kinds ? session->kinds[0] : &none);
	for (size_t i = 1; i < session->nr_kinds; i++) {
		const struct perf_poke_session_kind *kind = session->kinds[i];
		json_object *one = json_object_new_object();

		json_add_known(one, "threshold_ns",
			       kind_has_threshold_ns(kind->kind) ? kind->threshold_ns : 0, 0);
		json_add_session_kind(one, session, kind);
		json_add(triggers, kind_display_name(kind->kind), one);
	}
	json_add(object, "triggers", triggers);
	if (session->nr_sources)
		json_add(object, "sources",
			 json_new_sources(session->sources, session->nr_sources));
	json_add_u64(object, "captures", session->captures);
	json_add_u64(object, "failed", session->failed);
	json_add_u64(object, "pending", session->pending);
	json_add_known(object, "max_captures", session->max_captures, UINT64_MAX);
	json_add_name(object, "output", session->output);
	json_add_name(object, "last_capture", session->last_capture);
	return object;
}
