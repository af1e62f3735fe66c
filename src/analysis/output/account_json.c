// SPDX-License-Identifier: GPL-2.0-only
#include "output/output.h"

#include "json_util.h"

static json_object *account_spike_json(const struct account *account)
{
	const struct facts *facts = &account->facts;
	json_object *object = json_object_new_object();

	json_add_int(object, "cpu", facts->spike.cpu);
	json_add_bool(object, "poked", facts->spike.poked);
	json_add_name(object, "trigger", facts->trigger);
	json_add_name(object, "label", facts->spike.label);
	json_add_u64(object, "latency_ns", facts->spike.latency_ns);
	json_add_known(object, "irq_ns", facts->spike.irq_ns, 0);
	json_add_u64(object, "threshold_ns", facts->spike.threshold_ns);
	json_add_u64(object, "expected_ns", facts->spike.expected_ns);
	json_add_u64(object, "actual_ns", facts->spike.actual_ns);
	json_add_u64(object, "time_ns", facts->spike.time_ns);
	json_add_name(object, "function", facts->function);
	json_add_name(object, "wall_time", facts->wall_time);
	json_add_bool(object, "idle", facts->spike.idle);
	json_add_int(object, "pid", facts->spike.pid);
	json_add_int(object, "tid", facts->spike.tid);
	json_add_name(object, "comm", facts->spike.comm);
	return object;
}

/* Innermost first. */
static json_object *account_path_json(const struct account *account, uint32_t span)
{
	const struct lane *code = &account->spans->lanes[LANE_CODE];
	json_object *list = json_object_new_array();

	for (; span != SPAN_NONE; span = code->spans[span].parent)
		json_push_text(list, account_name(account, code->spans[span].name));
	return list;
}

/* Includes callers from before the trace. */
static json_object *account_whole_path_json(const struct account *account, uint32_t span)
{
	const struct lane *code = &account->spans->lanes[LANE_CODE];
	const struct spike_stack *stack = &account->facts.stack;
	json_object *list = account_path_json(account, span);

	if (span == SPAN_NONE)
		return list;
	while (code->spans[span].parent != SPAN_NONE)
		span = code->spans[span].parent;
	for (size_t i = account_callers_before(account, &code->spans[span]); i < stack->nr; i++)
		json_push_text(list, stack->frames[i].name);
	return list;
}

/* Innermost first. */
static json_object *inlined_frames_json(const struct spike_stack *stack, size_t frame)
{
	json_object *list = json_object_new_array();

	for (size_t i = 0; i < stack->nr_inlined; i++) {
		json_object *object;

		if (stack->inlined[i].frame != frame)
			continue;
		object = json_object_new_object();
		json_add_name(object, "name", stack->inlined[i].name);
		json_add_name(object, "source", stack->inlined[i].source);
		json_object_array_add(list, object);
	}
	return list;
}

/* Innermost first: function names, or positions in files. */
static json_object *spike_stack_json(const struct spike_stack *stack)
{
	json_object *list = json_object_new_array();

	for (size_t i = 0; i < stack->nr; i++) {
		const struct spike_frame *frame = &stack->frames[i];
		json_object *object = json_object_new_object();

		json_add_name(object, "name", frame->name);
		json_add_name(object, "module", frame->module);
		json_add_bool(object, "user", frame->user);
		json_add_name(object, "source", frame->source);
		json_add(object, "inlined", inlined_frames_json(stack, i));
		json_object_array_add(list, object);
	}
	return list;
}

/* The task that had the CPU when a late thread should have run; NULL: unknown. */
static json_object *stack_holder_json(const struct spike_stack *stack)
{
	json_object *object;

	if (!stack->nr)
		return NULL;
	object = json_object_new_object();
	json_add_int(object, "tid", stack->tid);
	json_add_bool(object, "interrupted", stack->interrupted);
	json_add(object, "stack", spike_stack_json(stack));
	return object;
}

/* The sender of the interrupt; NULL: unknown. */
static json_object *work_sender_json(const struct sender *sender)
{
	json_object *object, *callers;

	if (!sender)
		return NULL;
	object = json_object_new_object();
	callers = json_object_new_array();
	json_add_bool(object, "queued", sender->kind == SENDER_OF_WORK);
	json_add_int(object, "cpu", sender->cpu);
	json_add_int(object, "pid", sender->pid);
	json_add_int(object, "tid", sender->tid);
	json_add_name(object, "comm", sender->task);
	json_add_u64(object, "time_ns", sender->time);
	json_add_name(object, "function", sender->function);
	for (unsigned int i = 0; i < sender->nr_callers; i++)
		json_push_text(callers, sender->callers[i]);
	json_add(object, "callers", callers);
	return object;
}

static json_object *account_cause_json(const struct account *account)
{
	const struct cause *cause = &account->cause;
	const struct lane *code = &account->spans->lanes[LANE_CODE];
	json_object *object = json_object_new_object();

	json_add_name(object, "kind", cause_kind_name(cause->kind));
	json_add_name(object, "name", account_name(account, cause->name));
	json_add_u64(object, "time_ns", cause->time_ns);
	json_add_u64(object, "count", cause->count);
	json_add_name(object, "mostly", account_name(account, cause->mostly));
	json_add(object, "callers",
		 account_path_json(account, cause->span == SPAN_NONE
						    ? SPAN_NONE
						    : code->spans[cause->span].parent));
	json_add(object, "sender", work_sender_json(cause->sender));
	json_add_known(object, "instructions", cause->insns, 0);
	json_add_known(object, "cycles", cause->cycles, 0);
	json_add_name(object, "culprit",
		      cause->frame == STACK_NONE ? NULL
						 : account->blamed.stack.frames[cause->frame].name);
	return object;
}

/* As in rtla, with two digits. */
static json_object *analysis_percent_json(uint64_t part, uint64_t whole)
{
	double percent = whole ? 100.0 * (double)part / (double)whole : 0;
	char text[32];

	snprintf(text, sizeof(text), "%.2f", percent);
	return json_object_new_double_s(percent, text);
}

static json_object *account_analysis_json(const struct account *account)
{
	const struct analysis *analysis = &account->analysis;
	uint64_t latency_ns = account->facts.spike.latency_ns;
	json_object *list = json_object_new_array();

	for (size_t i = 0; i < analysis->nr; i++) {
		const struct analysis_row *row = &analysis->rows[i];
		json_object *object = json_object_new_object();

		json_add_name(object, "term", analysis_term(row->kind));
		json_add_name(object, "name",
			      row->name ? account_name(account, row->name) : row->note);
		json_add_u64(object, "time_ns", row->time_ns);
		json_add(object, "percent", analysis_percent_json(row->time_ns, latency_ns));
		json_object_array_add(list, object);
	}
	return list;
}

static json_object *account_usages_json(const struct account *account, const struct usage *usages,
					size_t nr)
{
	json_object *list = json_object_new_array();

	for (size_t i = 0; i < nr; i++) {
		json_object *object = json_object_new_object();

		json_add_name(object, "kind", span_kind_name(usages[i].kind));
		json_add_name(object, "name", account_name(account, usages[i].name));
		json_add_u64(object, "time_ns", usages[i].time_ns);
		json_add_u64(object, "late_ns", usages[i].late_ns);
		json_add_u64(object, "count", usages[i].count);
		json_add_u64(object, "longest_ns", usages[i].longest_ns);
		json_object_array_add(list, object);
	}
	return list;
}

static json_object *account_functions_json(const struct account *account, size_t top)
{
	const struct findings *findings = &account->findings;
	bool times = !account->facts.no_times;
	json_object *list = json_object_new_array();

	for (size_t i = 0; i < findings->nr_functions && i < top; i++) {
		const struct function *function = &findings->functions[i];
		json_object *object = json_object_new_object();

		json_add_name(object, "name", account_name(account, function->name));
		json_add_bool(object, "user", function->user);
		json_add_name(object, "source", account_source(account, function->name));
		json_add_u64(object, times ? "self_ns" : "self_instructions", function->self_ns);
		json_add_u64(object, times ? "total_ns" : "total_instructions", function->total_ns);
		if (times)
			json_add_u64(object, "late_ns", function->late_ns);
		json_add_u64(object, "calls", function->count);
		json_object_array_add(list, object);
	}
	return list;
}

/* Without times in the trace, times are null. */
static json_object *account_window_json(const struct account *account)
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
		json_add(window, rows[i].key,
			 account->facts.no_times ? NULL : json_object_new_uint64(rows[i].time_ns));
	if (account->facts.no_times)
		json_add_u64(window, "instructions", findings->end - findings->begin);
	return window;
}

static void account_add_tables(json_object *object, const struct account *account, size_t top)
{
	const struct findings *findings = &account->findings;
	bool times = !account->facts.no_times;

	json_add(object, "budget",
		 times ? account_usages_json(account, findings->budget, findings->nr_budget)
		       : NULL);
	json_add(object, "irqs_off",
		 times && account->spans->has_functions
			 ? account_usages_json(account, findings->irqs_off, findings->nr_irqs_off)
			 : NULL);
	json_add(object, "functions",
		 account->spans->has_functions ? account_functions_json(account, top) : NULL);
}

/* NULL: not known. */
static json_object *account_after_json(const struct account *account)
{
	json_object *object;

	if (!facts_is_pt(&account->facts) || account->facts.no_times)
		return NULL;
	object = json_object_new_object();
	json_add_u64(object, "instructions", account->after_insns);
	json_add_u64(object, "time_ns", account->after_ns);
	return object;
}

static json_object *account_samples_json(const struct account *account)
{
	const struct samples_mostly *mostly = &account->findings.samples;
	json_object *object, *callers;

	if (!mostly->function)
		return NULL;
	object = json_object_new_object();
	callers = json_object_new_array();
	json_add_u64(object, "count", mostly->all);
	json_add_u64(object, "in", mostly->nr);
	json_add_name(object, "function", account_name(account, mostly->function));
	for (size_t i = 0; i < mostly->nr_callers && i < SAMPLES_CALLERS_PRINTED; i++)
		json_object_array_add(callers,
				      json_text_value(account_name(account, mostly->callers[i])));
	json_add(object, "callers", callers);
	return object;
}

json_object *account_json(const struct account *account, size_t top)
{
	const struct findings *findings = &account->findings;
	json_object *object = json_object_new_object();

	json_add_name(object, "type", "report");
	json_add_name(object, "capture", account->capture);
	json_add_name(object, "sentence", account->sentence);
	json_add_name(object, "source",
		      account->facts.recorder == PERF_POKE_RECORDER_PERF   ? "perf"
		      : account->facts.recorder == PERF_POKE_RECORDER_NONE ? "none"
		      : account->facts.unread				   ? "none"
		      : facts_is_pt(&account->facts)			   ? "pt"
		      : facts_is_ftrace(&account->facts)		   ? "ftrace"
									   : "events");
	json_add(object, "spike", account_spike_json(account));
	json_add(object, "cause", account_cause_json(account));
	json_add(object, "thread", late_thread_json(account->thread, account->spans->names));
	json_add(object, "fingerprint", fingerprint_json(&account->fingerprint));
	json_add(object, "analysis", account_analysis_json(account));
	json_add(object, "window", account_window_json(account));
	json_add(object, "after_spike", account_after_json(account));
	account_add_tables(object, account, top);
	json_add(object, "path", account_whole_path_json(account, findings->path));
	json_add(object, "stack", spike_stack_json(&account->facts.stack));
	json_add(object, "holder", stack_holder_json(&account->facts.holder));
	json_add(object, "samples", account_samples_json(account));
	json_add(object, "hardware",
		 hardware_facts_json(&account->facts.hardware, &account->spans->power));
	json_add_u64(object, "events_lost", account->facts.capture.lost);
	json_add_u64(object, "decoding_errors", account->errors);
	json_add_name(object, "decoding_error", account->first_error);
	json_add_known(object, "time_step_ns", account->spans->step_ns, 0);
	return object;
}
