// SPDX-License-Identifier: GPL-2.0-only
#include "fxt_spans.h"

#include <string.h>

#include "fxt_read.h"

static const char *const lane_names[] = {
	[LANE_CODE] = "functions",
	[LANE_TASKS] = "tasks",
	[LANE_IRQS_OFF] = "interrupts off",
	[LANE_GAPS] = "trace",
};
_Static_assert(ARRAY_SIZE(lane_names) == LANE_NR, "each has a name");

/* Slices that were found late are in front of the file, not where they belong. */
struct change {
	uint64_t at;
	uint64_t insns, cycles;
	uint32_t number; /* in the file */
	uint32_t name;
	uint8_t lane, kind;
	bool begins, cut, user;
};

struct builder {
	struct spans *spans;
	int cpu;
	struct {
		uint64_t process, thread;
		bool known;
	} tracks[LANE_NR];
	struct change *changes;
	size_t nr, room;
	char **why;
};

static int explain(struct builder *builder, int r, const char *why)
{
	*builder->why = strdup(why);
	return r;
}

static int on_thread(void *arg, uint64_t process, uint64_t thread, const char *name)
{
	struct builder *builder = arg;
	int cpu, length = 0;

	/* Names of tasks end with a number, or have no space. */
	if (sscanf(name, "CPU %d %n", &cpu, &length) < 1 || !length)
		return 0;
	for (size_t i = 0; i < LANE_NR; i++) {
		if (strcmp(name + length, lane_names[i]))
			continue;
		if (builder->cpu < 0)
			builder->cpu = cpu;
		if (builder->cpu != cpu)
			return 0;
		builder->tracks[i].process = process;
		builder->tracks[i].thread = thread;
		builder->tracks[i].known = true;
	}
	return 0;
}

static enum span_kind kind_of_code(const char *category, const char *name)
{
	if (!strcmp(category, "interrupt"))
		return spans_kind_of_entry(name);
	if (!strcmp(category, "syscall"))
		return SPAN_SYSCALL;
	if (!strcmp(category, "untraced"))
		return SPAN_UNTRACED;
	return strcmp(category, "kernel") ? SPAN_FUNCTION : spans_kind_of_function(name);
}

static enum span_kind kind_of(enum lane_number lane, const char *category, const char *name)
{
	switch (lane) {
	case LANE_CODE:
		return kind_of_code(category, name);
	case LANE_TASKS:
		/* Those of other tasks have the number of the thread behind a space. */
		return strncmp(name, "swapper/", 8) || strchr(name, ' ') ? SPAN_THREAD : SPAN_IDLE;
	case LANE_IRQS_OFF:
		return SPAN_IRQS_OFF;
	case LANE_GAPS:
	case LANE_NR:
		break;
	}
	return strcmp(name, "[lost]") ? SPAN_UNTRACED : SPAN_LOST;
}

static struct change *add_change(struct builder *builder)
{
	size_t room = builder->room ? 2 * builder->room : 1024;
	struct change *grown;

	if (builder->nr < builder->room)
		return &builder->changes[builder->nr++];
	grown = reallocarray(builder->changes, room, sizeof(*grown));
	if (!grown)
		return NULL;
	builder->changes = grown;
	builder->room = room;
	return &builder->changes[builder->nr++];
}

static void take_args(struct change *change, const struct fxt_read_event *event)
{
	for (size_t i = 0; i < event->nr_args; i++) {
		const struct fxt_read_arg *arg = &event->args[i];
		bool is_number = arg->type == FXT_READ_U32 || arg->type == FXT_READ_U64;

		if (is_number && !strcmp(arg->key, "instructions"))
			change->insns = arg->value;
		else if (is_number && !strcmp(arg->key, "cycles"))
			change->cycles = arg->value;
		else if (arg->type == FXT_READ_BOOL && arg->value &&
			 (!strcmp(arg->key, "continued") || !strcmp(arg->key, "unfinished") ||
			  !strcmp(arg->key, "began before the trace")))
			change->cut = true;
	}
}

static int on_event(void *arg, const struct fxt_read_event *event)
{
	struct builder *builder = arg;
	struct change *change;
	size_t lane = 0;

	if (event->type != FXT_READ_BEGIN && event->type != FXT_READ_END)
		return 0;
	while (lane < LANE_NR &&
	       (!builder->tracks[lane].known || builder->tracks[lane].thread != event->thread ||
		builder->tracks[lane].process != event->process))
		lane++;
	if (lane == LANE_NR)
		return 0;
	if (builder->nr >= 2 * (size_t)SPANS_MAX)
		return -E2BIG;
	change = add_change(builder);
	if (!change)
		return -ENOMEM;
	*change = (struct change){
		.at = event->at,
		.number = (uint32_t)builder->nr,
		.name = names_add(builder->spans->names, event->name),
		.lane = (uint8_t)lane,
		.kind = (uint8_t)kind_of((enum lane_number)lane, event->category, event->name),
		.begins = event->type == FXT_READ_BEGIN,
		.user = !strcmp(event->category, "user"),
	};
	take_args(change, event);
	return names_error(builder->spans->names);
}

static int compare(const void *a, const void *b)
{
	const struct change *x = a, *y = b;

	if (x->at != y->at)
		return x->at < y->at ? -1 : 1;
	return x->number < y->number ? -1 : x->number > y->number;
}

static int begin_span(struct builder *builder, const struct change *change)
{
	struct spans *spans = builder->spans;
	struct lane *lane = &spans->lanes[change->lane];
	int r = spans_begin(spans, (enum lane_number)change->lane, change->at,
			    (enum span_kind)change->kind, names_get(spans->names, change->name));

	if (r)
		return r;
	lane->spans[lane->nr - 1].user = change->user;
	/* Of those that are there from the beginning it is not known since when. */
	lane->spans[lane->nr - 1].cut = change->at <= spans->begin;
	return 0;
}

static int end_span(struct builder *builder, const struct change *change)
{
	struct span *span = spans_end(builder->spans, (enum lane_number)change->lane, change->at);

	if (!span || span->name != change->name)
		return explain(builder, -EBADMSG, "a slice ends that did not begin");
	span->insns = change->insns;
	span->cycles = change->cycles;
	span->cut |= change->cut;
	return 0;
}

static int build(struct builder *builder)
{
	struct spans *spans = builder->spans;
	int r = 0;

	if (!builder->nr)
		return -ENODATA;
	qsort(builder->changes, builder->nr, sizeof(*builder->changes), compare);
	spans->begin = builder->changes[0].at;
	for (size_t i = 0; i < builder->nr && !r; i++) {
		const struct change *change = &builder->changes[i];

		r = change->begins ? begin_span(builder, change) : end_span(builder, change);
	}
	spans_finish(spans, builder->changes[builder->nr - 1].at);
	spans->has_functions = spans->has_irqs_off = true;
	return r;
}

int fxt_spans_read(FILE *file, int cpu, struct spans *spans, char **why)
{
	static const struct fxt_read_ops ops = { .event = on_event, .thread = on_thread };
	struct builder builder = { .spans = spans, .cpu = cpu, .why = why };
	int r = fxt_read(file, &ops, &builder, why);

	if (!r)
		r = build(&builder);
	free(builder.changes);
	return r;
}
