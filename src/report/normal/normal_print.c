// SPDX-License-Identifier: GPL-2.0-only
#include <inttypes.h>

#include "json_add.h"
#include "normal/normal.h"
#include "printable.h"
#include "units.h"

#define CALLERS_MAX 3
#define NOT_KNOWN "-"

static const char *name_of(const struct normal *normal, uint32_t name)
{
	return account_name(normal->account, name);
}

static const char *node_name(const struct normal *normal, uint32_t node)
{
	return name_of(normal, normal->paths.nodes[node].name);
}

static const char *begin_name(const struct normal *normal)
{
	if (normal->span)
		return "entry";
	return normal->steps[NORMAL_EXPIRY].normal_known ? "expiry" : "interrupt";
}

static const char *end_name(const struct normal *normal)
{
	if (normal->span)
		return "exit";
	return normal->activations.thread ? name_of(normal, normal->activations.thread)
					  : "its function";
}

static bool is_function(uint8_t kind)
{
	return kind == SPAN_FUNCTION || kind == SPAN_SYSCALL;
}

static void put_kind(FILE *file, uint8_t kind)
{
	if (!is_function(kind))
		fprintf(file, "%s ", span_kind_name((enum span_kind)kind));
}

/* Such as `acme_flush() < acme_write()`. */
static void put_chain(FILE *file, const struct normal *normal, uint32_t node)
{
	for (int nr = 0; node && nr <= CALLERS_MAX; node = normal->paths.nodes[node].parent, nr++) {
		uint8_t kind = normal->paths.nodes[node].kind;

		fputs(nr ? " < " : "", file);
		if (nr == CALLERS_MAX) {
			fputs("...", file);
			return;
		}
		put_kind(file, kind);
		fprintf(file, "%s%s", CLEAN_TO(40, node_name(normal, node)),
			is_function(kind) ? "()" : "");
	}
}

static void put_seen(FILE *file, const struct normal *normal, uint32_t seen)
{
	if (seen)
		fprintf(file, ", which %u of the %zu have", seen, normal->activations.nr);
	else
		fprintf(file, ", which none of the %zu has", normal->activations.nr);
}

static void put_most(FILE *file, const struct normal *normal)
{
	const struct normal_row *row = &normal->nodes[normal->most];

	if (!normal->most)
		return;
	fprintf(file, ": %s in ", FORMAT_TIME(row->total_ns - row->median_total_ns));
	put_chain(file, normal, normal->most);
	put_seen(file, normal, row->seen);
}

static void put_parting(FILE *file, const struct normal *normal)
{
	const char *function = normal_stack_name(normal);

	if (normal->parts) {
		fprintf(file, "; the paths diverge %s after the %s",
			FORMAT_TIME(normal->parts_ns - normal->activations.late.begin),
			normal->span ? "entry" : "expiry");
		if (normal->after)
			fprintf(file, ", after %s", CLEAN_TO(40, node_name(normal, normal->after)));
	}
	if (normal->parts && normal->parts != normal->most) {
		fputs(", in ", file);
		put_chain(file, normal, normal->parts);
	}
	if (function)
		fprintf(file, "; the stack at the spike names %s()", CLEAN_TO(80, function));
}

static void put_sentence(FILE *file, const struct normal *normal)
{
	const struct normal_time *whole = &normal->steps[NORMAL_WHOLE];

	fprintf(file, "normally %s from %s to %s (median of %zu, p99 %s); here ",
		FORMAT_TIME(whole->median_ns), begin_name(normal), CLEAN_TO(40, end_name(normal)),
		normal->activations.nr, FORMAT_TIME(whole->p99_ns));
	if (!normal->more_ns) {
		fputs("it took no longer", file);
		return;
	}
	fprintf(file, "%s more", FORMAT_TIME(normal->more_ns));
	put_most(file, normal);
	put_parting(file, normal);
}

static void put_few(FILE *file, const struct normal *normal)
{
	if (normal->account->facts.thread && !normal->activations.thread && !normal->span)
		fputs("the trace does not show which thread was late", file);
	else
		fprintf(file,
			"%s has %s, too few to compare with: %d are needed; start --buffer "
			"with more records more of them",
			normal->there ? CLEAN_TO(70, normal->there->capture) : "the trace",
			FORMAT_COUNT(normal->activations.nr, "normal activation",
				     "normal activations"),
			NORMAL_MIN);
}

char *normal_sentence(const struct normal *normal)
{
	char *text = NULL;
	size_t size;
	FILE *memory = open_memstream(&text, &size);

	if (!memory)
		return NULL;
	if (normal_is_enough(normal))
		put_sentence(memory, normal);
	else
		put_few(memory, normal);
	if (fclose(memory)) {
		free(text);
		return NULL;
	}
	return text;
}

static const char *format_known(char *buf, bool known, uint64_t ns)
{
	return known ? units_format_time(buf, UNITS_MAX, ns) : NOT_KNOWN;
}
#define FORMAT_KNOWN(known, ns) format_known((char[UNITS_MAX]){ 0 }, known, ns)

static const char *format_more(char *buf, size_t size, const struct normal_time *time)
{
	bool more = time->here_ns >= time->median_ns;

	if (!time->here_known || !time->normal_known)
		return NOT_KNOWN;
	snprintf(buf, size, "%c%s", more ? '+' : '-',
		 FORMAT_TIME(more ? time->here_ns - time->median_ns
				  : time->median_ns - time->here_ns));
	return buf;
}
#define FORMAT_MORE(time) format_more((char[UNITS_MAX + 1]){ 0 }, UNITS_MAX + 1, time)

static void print_time(FILE *file, const char *name, const struct normal_time *time)
{
	fprintf(file, "  %-49s %9s %9s %9s %9s", name,
		FORMAT_KNOWN(time->normal_known, time->median_ns),
		FORMAT_KNOWN(time->normal_known, time->p99_ns),
		FORMAT_KNOWN(time->here_known, time->here_ns), FORMAT_MORE(time));
}

static void print_steps(FILE *file, const struct normal *normal)
{
	fprintf(file, "\n%-51s %9s %9s %9s %9s\n", "step", "normal", "p99", "here", "more");
	for (int step = 0; step < NORMAL_NR_STEPS; step++) {
		const struct normal_time *time = &normal->steps[step];

		if (!time->normal_known && !time->here_known)
			continue;
		print_time(file, normal_step_name((enum normal_step)step), time);
		fputc('\n', file);
	}
}

static void print_longer(FILE *file, const struct normal *normal, size_t top)
{
	fprintf(file, "\n%-51s %9s %9s %9s %9s %6s\n", "what took longer, by itself", "normal",
		"p99", "here", "more", "in");
	for (size_t i = 0; i < normal->nr_longer && i < top; i++) {
		const struct normal_row *row = &normal->longer[i];
		char name[128];

		snprintf(name, sizeof(name), "%s%s%.60s",
			 is_function(row->kind) ? "" : span_kind_name((enum span_kind)row->kind),
			 is_function(row->kind) ? "" : " ", name_of(normal, row->name));
		print_time(file, CLEAN_TO(49, name), &row->self);
		fprintf(file, " %6u\n", row->seen);
	}
	if (normal->nr_longer > top)
		fprintf(file, "  and %zu more\n", normal->nr_longer - top);
}

void normal_print(FILE *file, const struct normal *normal, size_t top)
{
	_cleanup_free_ char *sentence = normal_sentence(normal);
	const struct facts *facts = &normal->account->facts;

	fprintf(file, "\nagainst normal activations of %s%s\n",
		normal->any_timer    ? "all timers; too few are of "
		: normal->span	     ? "the span "
		: normal->same_timer ? ""
				     : "timers with ",
		CLEAN_TO(70, normal->span ? facts->label : facts->function));
	if (normal->there)
		fprintf(file, "in %s\n", CLEAN_TO(90, normal->there->capture));
	account_print_wrapped(file, sentence ?: "?");
	if (!normal_is_enough(normal))
		return;
	print_steps(file, normal);
	print_longer(file, normal, top);
}

static json_object *new_time(const struct normal_time *time)
{
	json_object *object = json_object_new_object();

	json_add(object, "median_ns",
		 time->normal_known ? json_object_new_uint64(time->median_ns) : NULL);
	json_add(object, "p99_ns",
		 time->normal_known ? json_object_new_uint64(time->p99_ns) : NULL);
	json_add(object, "here_ns",
		 time->here_known ? json_object_new_uint64(time->here_ns) : NULL);
	return object;
}

static json_object *new_row(const struct normal *normal, const struct normal_row *row)
{
	json_object *object = new_time(&row->self);

	json_add_text(object, "kind", span_kind_name((enum span_kind)row->kind));
	json_add_text(object, "name", name_of(normal, row->name));
	json_add_u64(object, "calls", row->count);
	json_add_u64(object, "activations", row->seen);
	return object;
}

/* NULL for node 0. */
static json_object *new_node(const struct normal *normal, uint32_t node)
{
	const struct normal_row *row = &normal->nodes[node];
	json_object *object, *callers;

	if (!node)
		return NULL;
	object = new_row(normal, row);
	callers = json_object_new_array();
	json_add_u64(object, "total_ns", row->total_ns);
	json_add_u64(object, "median_total_ns", row->median_total_ns);
	while ((node = normal->paths.nodes[node].parent))
		json_object_array_add(callers, json_text(node_name(normal, node)));
	json_add(object, "callers", callers);
	return object;
}

static json_object *new_steps(const struct normal *normal)
{
	json_object *list = json_object_new_array();

	for (int step = 0; step < NORMAL_NR_STEPS; step++) {
		json_object *object = new_time(&normal->steps[step]);

		json_add_text(object, "step", normal_step_name((enum normal_step)step));
		json_object_array_add(list, object);
	}
	return list;
}

static void add_comparison(json_object *object, const struct normal *normal, size_t top)
{
	json_object *longer = json_object_new_array();

	json_add(object, "steps", new_steps(normal));
	json_add_u64(object, "more_ns", normal->more_ns);
	json_add(object, "parts", new_node(normal, normal->parts));
	json_add(object, "parts_ns",
		 normal->parts ? json_object_new_uint64(normal->parts_ns) : NULL);
	json_add_text(object, "after", normal->after ? node_name(normal, normal->after) : NULL);
	json_add(object, "most", new_node(normal, normal->most));
	json_add_text(object, "stack", normal_stack_name(normal));
	for (size_t i = 0; i < normal->nr_longer && i < top; i++)
		json_object_array_add(longer, new_row(normal, &normal->longer[i]));
	json_add(object, "longer", longer);
}

json_object *normal_json(const struct normal *normal, size_t top)
{
	json_object *object = json_object_new_object();

	json_add_name(object, "function", normal->span ? NULL : normal->account->facts.function);
	json_add_name(object, "span", normal->span ? normal->account->facts.label : NULL);
	json_add_name(object, "there", normal->there ? normal->there->capture : NULL);
	json_add_bool(object, "same_timer", normal->same_timer);
	json_add_bool(object, "any_timer", normal->any_timer);
	json_add_name(object, "thread",
		      normal->activations.thread ? name_of(normal, normal->activations.thread)
						 : NULL);
	json_add_u64(object, "activations", normal->activations.nr);
	json_add_u64(object, "needed", NORMAL_MIN);
	if (normal_is_enough(normal))
		add_comparison(object, normal, top);
	return object;
}
