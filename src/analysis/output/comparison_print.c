// SPDX-License-Identifier: GPL-2.0-only
#include <assert.h>

#include "compare/compare.h"
#include "json_util.h"
#include "output/output.h"
#include "text.h"
#include "units.h"

#define CALLERS_MAX 3
#define NOT_KNOWN "-"
/* A kind and a name fit in their column. */
#define NODE_MAX 64

static const char *comparison_name_of(const struct comparison *comparison, uint32_t name)
{
	return account_name(&comparison->here, name);
}

static const char *comparison_step_name(enum comparison_step step)
{
	static const char *const names[] = {
		[COMPARISON_EXPIRY] = "expiry to interrupt",
		[COMPARISON_HANDLER] = "interrupt to timer's function",
		[COMPARISON_THREAD] = "timer's function to thread",
		[COMPARISON_WHOLE] = "all of it",
	};

	static_assert(ARRAY_SIZE(names) == COMPARISON_NR_STEPS, "a name for each");
	return names[step];
}

/* For traces without functions: the function of the late task in the spike's stack. NULL:
 * unknown. */
static const char *stack_function_name(const struct account *account)
{
	const struct fingerprint *fingerprint = &account->fingerprint;
	enum cause_kind kind = account->cause.kind;
	bool in_stack =
		kind == CAUSE_IRQS_OFF || kind == CAUSE_IRQS_OFF_OR_OUTSIDE || kind == CAUSE_THREAD;

	/* With the name of a task, the function is not of the stack. */
	if (account->spans->has_functions || facts_is_reported(&account->facts) || !in_stack ||
	    !fingerprint->nr || fingerprint->frames[0][0] == '[' ||
	    fingerprint_has_task(fingerprint))
		return NULL;
	return fingerprint->frames[0];
}

/* Such as `acme_flush`, followed by `call`, or `thread stress`. Returns buf. */
static const char *format_call_node(char *buf, const struct comparison *comparison,
				    const struct call_node *node, const char *call)
{
	bool function = node->kind == SPAN_FUNCTION || node->kind == SPAN_SYSCALL;

	snprintf(buf, NODE_MAX, "%s%s%s%s",
		 function ? "" : span_kind_name((enum span_kind)node->kind), function ? "" : " ",
		 CLEAN_TO(40, comparison_name_of(comparison, node->name)), function ? call : "");
	return buf;
}

/* Such as `acme_flush() < acme_write()`. */
static void put_call_chain(FILE *file, const struct comparison *comparison, uint32_t at)
{
	const struct call_node *nodes = comparison->tree.nodes;
	char buf[NODE_MAX];

	for (int nr = 0; at && nr < CALLERS_MAX; at = nodes[at].parent, nr++)
		fprintf(file, "%s%s", nr ? " < " : "",
			format_call_node(buf, comparison, &nodes[at], "()"));
	if (at)
		fputs(" < ...", file);
}

static void put_heaviest_chain(FILE *file, const struct comparison *comparison)
{
	const struct call_node *node = &comparison->tree.nodes[comparison->most];
	const struct compared_node *compared = &comparison->nodes[comparison->most];
	uint64_t begin = comparison->activations.late.begin;
	const char *expiry = facts_is_reported(&comparison->here.facts) ? "entry" : "expiry";

	fprintf(file, ": %s in ", FORMAT_TIME(node->total_ns - compared->median_total_ns));
	put_call_chain(file, comparison, comparison->most);
	if (comparison->against)
		fprintf(file, ", which %s there", compared->seen ? "is" : "is not");
	else if (compared->seen)
		fprintf(file, ", which %u of the %zu have", compared->seen,
			comparison->activations.nr);
	else
		fprintf(file, ", which none of the %zu has", comparison->activations.nr);
	if (node->begin > begin)
		fprintf(file, "; it began %s after the %s", FORMAT_TIME(node->begin - begin),
			expiry);
	else
		fprintf(file, "; it ran already at the %s", expiry);
}

static void put_whole_sentence(FILE *file, const struct comparison *comparison)
{
	const struct compared_time *whole = &comparison->steps[COMPARISON_WHOLE];
	bool reported = facts_is_reported(&comparison->here.facts);
	uint32_t thread = comparison->activations.thread;
	const char *stack = stack_function_name(&comparison->here);

	fprintf(file, "%s %s from %s to %s", comparison->against ? "there" : "normally",
		FORMAT_TIME(whole->median_ns),
		reported							    ? "entry"
		: comparison->against || comparison->steps[COMPARISON_EXPIRY].known ? "expiry"
										    : "interrupt",
		reported ? "exit"
		: thread ? CLEAN_TO(40, comparison_name_of(comparison, thread))
			 : "its function");
	if (!comparison->against)
		fprintf(file, " (median of %zu, p99 %s)", comparison->activations.nr,
			FORMAT_TIME(whole->p99_ns));
	if (!comparison->more_ns) {
		fputs("; here it took no longer", file);
		return;
	}
	fprintf(file, "; here %s more", FORMAT_TIME(comparison->more_ns));
	if (comparison->most)
		put_heaviest_chain(file, comparison);
	if (stack)
		fprintf(file, "; the stack at the spike names %s()", CLEAN_TO(80, stack));
}

static void put_few_sentence(FILE *file, const struct comparison *comparison)
{
	const struct facts *facts = &comparison->here.facts;

	if (facts_is_thread(facts) && !comparison->activations.thread && !facts_is_reported(facts))
		fputs("the trace does not show which thread was late", file);
	else
		fprintf(file,
			"the trace has %s, too few to compare with: %d are needed; start --buffer "
			"with more records more of them",
			FORMAT_COUNT(comparison->activations.nr, "normal activation",
				     "normal activations"),
			COMPARISON_MIN);
}

/* One line without newline. NULL if out of memory. */
static char *comparison_sentence(const struct comparison *comparison)
{
	char *text = NULL;
	size_t size;
	FILE *memory = open_memstream(&text, &size);

	if (!memory)
		return NULL;
	if (comparison_is_enough(comparison))
		put_whole_sentence(memory, comparison);
	else
		put_few_sentence(memory, comparison);
	if (fclose(memory)) {
		free(text);
		return NULL;
	}
	return text;
}

/* The other columns take 51. */
static int name_width(const struct comparison *comparison)
{
	return (int)account_columns(&comparison->here) - 51;
}

static void print_times_head(FILE *file, const struct comparison *comparison, const char *what,
			     const char *last)
{
	fprintf(file, "\n%-*s %9s", name_width(comparison) + 2, what,
		comparison->against ? "there" : "normal");
	if (!comparison->against)
		fprintf(file, " %9s", "p99");
	fprintf(file, " %9s %9s%s\n", "here", "more", last);
}

static void print_times_row(FILE *file, const struct comparison *comparison, const char *name,
			    const struct compared_time *time)
{
	bool less = time->here_ns < time->median_ns;
	char more[UNITS_MAX + 1] = NOT_KNOWN;

	if (time->known && time->here_known)
		snprintf(more, sizeof(more), "%c%s", less ? '-' : '+',
			 FORMAT_TIME(less ? time->median_ns - time->here_ns
					  : time->here_ns - time->median_ns));
	fprintf(file, "  %-*.*s %9s", name_width(comparison), name_width(comparison), name,
		time->known ? FORMAT_TIME(time->median_ns) : NOT_KNOWN);
	if (!comparison->against)
		fprintf(file, " %9s", time->known ? FORMAT_TIME(time->p99_ns) : NOT_KNOWN);
	fprintf(file, " %9s %9s", time->here_known ? FORMAT_TIME(time->here_ns) : NOT_KNOWN, more);
}

static void print_step_table(FILE *file, const struct comparison *comparison)
{
	print_times_head(file, comparison, "step", "");
	for (enum comparison_step step = 0; step < COMPARISON_NR_STEPS; step++) {
		const struct compared_time *time = &comparison->steps[step];

		if (!time->known && !time->here_known)
			continue;
		print_times_row(file, comparison, comparison_step_name(step), time);
		fputc('\n', file);
	}
}

static void print_differences(FILE *file, const struct comparison *comparison, size_t top)
{
	print_times_head(file, comparison, "what differs, by itself", "      in");
	if (!comparison->nr_differences)
		fputs("  nothing\n", file);
	for (size_t i = 0; i < comparison->nr_differences && i < top; i++) {
		const struct compared_node *compared = &comparison->differences[i];
		const struct call_node *node = &comparison->functions.nodes[compared->node];
		char name[NODE_MAX], in[32];

		snprintf(in, sizeof(in), "%u", compared->seen);
		print_times_row(file, comparison, format_call_node(name, comparison, node, ""),
				&compared->self);
		fprintf(file, " %7s\n",
			!compared->seen	      ? "new"
			: !node->count	      ? "missing"
			: comparison->against ? "both"
					      : in);
	}
	if (comparison->nr_differences > top)
		fprintf(file, "  and %zu more\n", comparison->nr_differences - top);
}

void comparison_print(FILE *file, const struct comparison *comparison, size_t top)
{
	const struct facts *facts = &comparison->here.facts;
	_cleanup_free_ char *sentence = comparison_sentence(comparison);

	if (comparison->against)
		fprintf(file, "\nagainst %s\n  %s\n", CLEAN(comparison->there.capture),
			CLEAN(comparison->there.sentence));
	else
		fprintf(file, "\nagainst normal activations of %s%s\n",
			facts_is_reported(facts) ? "the span "
			: comparison->same_timer ? ""
						 : "timers with ",
			CLEAN_TO(70,
				 facts_is_reported(facts) ? facts->spike.label : facts->function));
	account_print_wrapped(file, &comparison->here, sentence ?: "?");
	if (!comparison_is_enough(comparison))
		return;
	print_step_table(file, comparison);
	print_differences(file, comparison, top);
}

static json_object *compared_time_json(const struct compared_time *time)
{
	json_object *object = json_object_new_object();

	json_add(object, "median_ns", time->known ? json_object_new_uint64(time->median_ns) : NULL);
	json_add(object, "p99_ns", time->known ? json_object_new_uint64(time->p99_ns) : NULL);
	json_add(object, "here_ns",
		 time->here_known ? json_object_new_uint64(time->here_ns) : NULL);
	return object;
}

static json_object *compared_node_json(const struct comparison *comparison,
				       const struct call_node *node,
				       const struct compared_node *compared)
{
	_cleanup_free_ char *name = strdup(comparison_name_of(comparison, node->name));
	json_object *object = compared_time_json(&compared->self);

	json_add_text(object, "kind", span_kind_name((enum span_kind)node->kind));
	json_add_text(object, "name", name ? text_make_printable(name) : NULL);
	json_add_u64(object, "calls", node->count);
	json_add_u64(object, "activations", compared->seen);
	return object;
}

static json_object *call_tree_node_json(const struct comparison *comparison, uint32_t i)
{
	const struct call_node *node = &comparison->tree.nodes[i];
	json_object *object = compared_node_json(comparison, node, &comparison->nodes[i]);

	json_add_u64(object, "parent", node->parent);
	json_add_u64(object, "total_ns", node->total_ns);
	json_add_u64(object, "median_total_ns", comparison->nodes[i].median_total_ns);
	json_add_u64(object, "begin_ns", node->begin);
	return object;
}

static json_object *heaviest_call_json(const struct comparison *comparison)
{
	const struct call_node *nodes = comparison->tree.nodes;
	json_object *object, *callers;

	if (!comparison->most)
		return NULL;
	object = call_tree_node_json(comparison, comparison->most);
	callers = json_object_new_array();
	for (uint32_t at = nodes[comparison->most].parent; at; at = nodes[at].parent)
		json_push_text(callers, comparison_name_of(comparison, nodes[at].name));
	json_add(object, "callers", callers);
	return object;
}

static json_object *comparison_steps_json(const struct comparison *comparison)
{
	json_object *list = json_object_new_array();

	for (enum comparison_step step = 0; step < COMPARISON_NR_STEPS; step++) {
		json_object *object = compared_time_json(&comparison->steps[step]);

		json_add_text(object, "step", comparison_step_name(step));
		json_object_array_add(list, object);
	}
	return list;
}

json_object *comparison_json(const struct comparison *comparison, size_t top, bool nodes)
{
	uint32_t thread = comparison->activations.thread;
	_cleanup_free_ char *sentence = comparison_sentence(comparison);
	json_object *object = json_object_new_object(), *list;

	json_add_text(object, "sentence", sentence ? text_make_printable(sentence) : NULL);
	json_add_name(object, "there", comparison->there.capture);
	json_add_name(object, "there_sentence", comparison->there.sentence);
	json_add_bool(object, "same_timer", comparison->same_timer);
	json_add_name(object, "thread", thread ? comparison_name_of(comparison, thread) : NULL);
	json_add_u64(object, "activations", comparison->activations.nr);
	if (!comparison_is_enough(comparison))
		return object;
	json_add(object, "steps", comparison_steps_json(comparison));
	json_add_u64(object, "more_ns", comparison->more_ns);
	json_add(object, "most", heaviest_call_json(comparison));
	json_add_text(object, "stack", stack_function_name(&comparison->here));
	list = json_object_new_array();
	for (size_t i = 0; i < comparison->nr_differences && i < top; i++) {
		const struct compared_node *compared = &comparison->differences[i];
		const struct call_node *node = &comparison->functions.nodes[compared->node];

		json_object_array_add(list, compared_node_json(comparison, node, compared));
	}
	json_add(object, "differences", list);
	if (!nodes)
		return object;
	list = json_object_new_array();
	for (uint32_t i = 0; i < comparison->tree.nr; i++)
		json_object_array_add(list, call_tree_node_json(comparison, i));
	json_add(object, "nodes", list);
	return object;
}
