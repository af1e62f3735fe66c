// SPDX-License-Identifier: GPL-2.0-only
#include "facts/spans.h"

#include <string.h>

#include "array.h"
#include "calls/cpu.h"
#include "calls/timeline.h"
#include "facts/arrows.h"
#include "kernel_function.h"
#include "text.h"

#define STACK_TEXT 256

struct track_spans {
	struct spans *spans;
	int cpu;
	uint64_t last;
	uint8_t *kinds; /* by name of a kernel function, plus one; 0: not looked up */
	uint32_t nr_kinds;
	struct {
		uint32_t interrupt, syscall, untraced, kernel, user;
	} category;
	struct {
		uint32_t insns, cycles, continued, unfinished, before;
	} key;
	uint32_t lost[3];
	int err;
};

int track_spans_new(struct track_spans **ret, struct spans *spans, int cpu)
{
	struct track_spans *sink = calloc(1, sizeof(*sink));
	struct names *names = spans->names;

	if (!sink)
		return -ENOMEM;
	sink->spans = spans;
	sink->cpu = cpu;
	sink->category.interrupt = names_add(names, "interrupt");
	sink->category.syscall = names_add(names, "syscall");
	sink->category.untraced = names_add(names, "untraced");
	sink->category.kernel = names_add(names, "kernel");
	sink->category.user = names_add(names, "user");
	sink->key.insns = names_add(names, "instructions");
	sink->key.cycles = names_add(names, "cycles");
	sink->key.continued = names_add(names, "continued");
	sink->key.unfinished = names_add(names, "unfinished");
	sink->key.before = names_add(names, "began before the trace");
	sink->lost[0] = names_add(names, TRACK_LOST);
	sink->lost[1] = names_add(names, TRACK_NO_CODE);
	sink->lost[2] = names_add(names, TRACK_UNDECODED);
	*ret = sink;
	return 0;
}

void track_spans_free(struct track_spans *sink)
{
	if (!sink)
		return;
	free(sink->kinds);
	free(sink);
}

static void *track_spans_choose(void *arg, const struct track_id *id)
{
	static const int lanes[] = {
		[TRACK_CODE] = LANE_CODE,  [TRACK_TASKS] = LANE_TASKS,
		[TRACK_TIMER] = -1,	   [TRACK_INTERRUPTS] = -1,
		[TRACK_TRACE] = LANE_GAPS, [TRACK_IRQS_OFF] = LANE_IRQS_OFF,
		[TRACK_THREAD] = -1,	   [TRACK_IRQS_UNKNOWN] = LANE_IRQS_UNKNOWN,
	};
	struct track_spans *sink = arg;

	if (lanes[id->kind] < 0)
		return NULL;
	if (sink->cpu < 0)
		sink->cpu = id->cpu;
	return sink->cpu == id->cpu ? &sink->spans->lanes[lanes[id->kind]] : NULL;
}

/* The name determines a function's kind; cached. */
static enum span_kind kind_of_function(struct track_spans *sink, uint32_t name)
{
	const char *text = names_get(sink->spans->names, name);

	if (name >= sink->nr_kinds) {
		uint32_t nr = names_count(sink->spans->names) + 1024;
		uint8_t *grown = realloc(sink->kinds, nr);

		if (!grown)
			return spans_kind_of_function(text);
		memset(grown + sink->nr_kinds, 0, nr - sink->nr_kinds);
		sink->kinds = grown;
		sink->nr_kinds = nr;
	}
	if (!sink->kinds[name])
		sink->kinds[name] = (uint8_t)(1 + spans_kind_of_function(text));
	return (enum span_kind)(sink->kinds[name] - 1);
}

static enum span_kind kind_of_code_span(struct track_spans *sink, uint32_t category, uint32_t name)
{
	if (category == sink->category.kernel)
		return kind_of_function(sink, name);
	if (category == sink->category.interrupt)
		return spans_kind_of_entry(names_get(sink->spans->names, name));
	if (category == sink->category.syscall)
		return SPAN_SYSCALL;
	return category == sink->category.untraced ? SPAN_UNTRACED : SPAN_FUNCTION;
}

static enum span_kind kind_of_lane_span(struct track_spans *sink, enum lane_number lane,
					uint32_t category, uint32_t name)
{
	const char *text = names_get(sink->spans->names, name);

	switch (lane) {
	case LANE_CODE:
		return kind_of_code_span(sink, category, name);
	case LANE_TASKS:
		/* Names of other tasks end with a space and the thread id. */
		return strncmp(text, "swapper/", 8) || strchr(text, ' ') ? SPAN_THREAD : SPAN_IDLE;
	case LANE_IRQS_OFF:
		return SPAN_IRQS_OFF;
	case LANE_IRQS_UNKNOWN:
		return SPAN_IRQS_UNKNOWN;
	case LANE_GAPS:
	case LANE_NR:
		break;
	}
	for (size_t i = 0; i < ARRAY_SIZE(sink->lost); i++) {
		if (name == sink->lost[i])
			return SPAN_LOST;
	}
	return SPAN_UNTRACED;
}

static void span_read_arguments(const struct track_spans *sink, struct span *span,
				const struct track_event *event)
{
	for (size_t i = 0; i < event->nr_args; i++) {
		const struct track_arg *arg = &event->args[i];

		if (arg->key == sink->key.insns)
			span->insns = arg->u64;
		else if (arg->key == sink->key.cycles)
			span->cycles = arg->u64;
		else if (arg->key == sink->key.continued || arg->key == sink->key.unfinished ||
			 arg->key == sink->key.before)
			span->cut = true;
	}
}

static enum lane_number lane_number_of(const struct track_spans *sink, const struct lane *lane)
{
	return (enum lane_number)(lane - sink->spans->lanes);
}

static void track_spans_event(void *arg, void *track, const struct track_event *event)
{
	struct track_spans *sink = arg;
	enum lane_number lane = lane_number_of(sink, track);
	struct span *span;

	if (event->at > sink->last)
		sink->last = event->at;
	if (sink->err)
		return;
	if (event->type == TRACK_BEGIN) {
		sink->err = spans_begin_named(
			sink->spans, lane, event->at,
			kind_of_lane_span(sink, lane, event->category, event->name), event->name,
			event->category == sink->category.user);
	} else if (event->type == TRACK_END) {
		span = spans_end(sink->spans, lane, event->at);
		if (span)
			span_read_arguments(sink, span, event);
	}
}

static void track_spans_restart(void *arg, void *track)
{
	struct track_spans *sink = arg;

	spans_restart(sink->spans, lane_number_of(sink, track));
}

static void track_spans_late(void *arg, void *track, const struct track_late *late)
{
	struct track_spans *sink = arg;
	enum lane_number lane = lane_number_of(sink, track);
	struct span *span;

	if (sink->err)
		return;
	sink->err = spans_begin_late(sink->spans, lane, late->begin,
				     kind_of_lane_span(sink, lane, late->category, late->name),
				     late->name, late->category == sink->category.user);
	if (sink->err || !late->ends)
		return;
	span = spans_end(sink->spans, lane, late->end);
	span->cut = true;
}

/* The name of the entry that an event of FRED would have without it, by a function that it calls;
 * 0: not by this one. */
static uint32_t name_fred_event(struct spans *spans, const char *callee, enum span_kind *kind)
{
	const char *vector = kernel_function_after(callee, KERNEL_BEFORE_VECTOR);
	const struct kernel_function *row = kernel_function_find(callee, KERNEL_PASSES);
	char name[96];

	if (vector)
		snprintf(name, sizeof(name), "asm_%s%s",
			 has_prefix(vector - 4, "exc_") ? "exc_" : "sysvec_", vector);
	else if (!strcmp(callee, "common_interrupt") || !strcmp(callee, "spurious_interrupt"))
		snprintf(name, sizeof(name), "asm_%s", callee);
	else if (row && row->token)
		snprintf(name, sizeof(name), "entry_SYSCALL_64");
	else
		return 0;
	*kind = row && row->token ? SPAN_SYSCALL : spans_kind_of_entry(name);
	return names_add(spans->names, name);
}

/* With FRED, the CPU enters the kernel at the same place for all events. */
static void name_fred_events(struct spans *spans)
{
	const struct lane *code = &spans->lanes[LANE_CODE], *off = &spans->lanes[LANE_IRQS_OFF];

	for (uint32_t i = 0; i < code->nr; i++) {
		struct span *event = &code->spans[i];
		uint32_t by = lane_innermost_at(off, event->begin), name = 0;
		enum span_kind kind = SPAN_INTERRUPT;

		if (event->kind != SPAN_INTERRUPT ||
		    !kernel_function_find(names_get(spans->names, event->name), KERNEL_EVENT))
			continue;
		for (uint32_t k = i + 1;
		     k < code->nr && code->spans[k].depth > event->depth && !name; k++)
			name = name_fred_event(spans, names_get(spans->names, code->spans[k].name),
					       &kind);
		if (!name)
			continue;
		if (by != SPAN_NONE && off->spans[by].name == event->name)
			off->spans[by].name = name;
		event->name = name;
		event->kind = (uint8_t)kind;
	}
}

static int track_spans_finish(void *arg)
{
	struct track_spans *sink = arg;
	struct spans *spans = sink->spans;
	uint64_t begin = UINT64_MAX;

	if (sink->err)
		return sink->err;
	for (size_t i = 0; i < LANE_NR; i++) {
		int err = spans_settle(spans, (enum lane_number)i);

		if (err)
			return err;
		if (spans->lanes[i].nr && spans->lanes[i].spans[0].begin < begin)
			begin = spans->lanes[i].spans[0].begin;
	}
	if (begin == UINT64_MAX)
		return -ENODATA;
	spans->begin = begin;
	/* Spans open at the start have an unknown begin. */
	for (size_t i = 0; i < LANE_NR; i++) {
		struct lane *lane = &spans->lanes[i];

		for (uint32_t k = 0; k < lane->nr && lane->spans[k].begin <= begin; k++)
			lane->spans[k].cut = true;
	}
	/* The last task goes on after the trace. */
	for (uint32_t i = 0; i < spans->lanes[LANE_TASKS].nr; i++) {
		struct span *span = &spans->lanes[LANE_TASKS].spans[i];

		span->cut |= span->end == sink->last;
	}
	spans_finish(spans, sink->last);
	name_fred_events(spans);
	spans->has_functions = spans->has_irqs_off = true;
	return names_error(spans->names);
}

const struct timeline_ops track_spans_ops = {
	.track = track_spans_choose,
	.event = track_spans_event,
	.restart = track_spans_restart,
	.late = track_spans_late,
	.finish = track_spans_finish,
};

/* ---- Tracks from spans --------------------------------------------------------------------------
 */

struct lane_writer {
	const struct spans *spans;
	const struct lane *lane;
	struct track *track;
	uint32_t open; /* innermost open span */
	const struct arrow_end *arrows;
	size_t nr_arrows;
	const struct cpu_names *cpu_names;
};

/* Positions of a track never decrease: ends of arrows are written between those of spans. */
static void lane_writer_put_arrows(struct lane_writer *writer, uint64_t until)
{
	for (; writer->nr_arrows && writer->arrows->at < until;
	     writer->arrows++, writer->nr_arrows--) {
		const struct arrow_end *end = writer->arrows;

		track_flow(writer->track, end->at,
			   end->is_begin ? TRACK_FLOW_BEGIN : TRACK_FLOW_END,
			   writer->cpu_names->category,
			   end->is_wakeup ? writer->cpu_names->wakeup : writer->cpu_names->sent,
			   end->flow);
	}
}

/* Ends of arrows are in order of CPU, lane and time. */
static void lane_writer_find_arrows(struct lane_writer *writer, const struct arrows *arrows,
				    int cpu, enum lane_number lane)
{
	size_t first =
		ARRAY_COUNT_BEFORE(arrows->nr, k,
				   arrows->ends[k].cpu < cpu || (arrows->ends[k].cpu == cpu &&
								 arrows->ends[k].lane < lane));

	writer->arrows = arrows->ends + first;
	while (first + writer->nr_arrows < arrows->nr &&
	       writer->arrows[writer->nr_arrows].cpu == cpu &&
	       writer->arrows[writer->nr_arrows].lane == lane)
		writer->nr_arrows++;
}

/* Ends all open spans that do not enclose the next one. */
static void lane_writer_end_until(struct lane_writer *writer, uint32_t parent)
{
	while (writer->open != parent && writer->open != SPAN_NONE) {
		const struct span *span = &writer->lane->spans[writer->open];

		if (span->cut && span->end >= writer->spans->end)
			return;
		lane_writer_put_arrows(writer, span->end);
		track_end(writer->track,
			  span->end < writer->spans->begin ? writer->spans->begin : span->end, NULL,
			  0);
		writer->open = span->parent;
	}
}

/* Such as `acme_flush < foo < bar`. */
static uint32_t name_sample_stack(const struct spans *spans, const struct sampled *sample,
				  struct names *names)
{
	const uint32_t *frames = &spans->samples.frames[sample->first];
	char text[STACK_TEXT] = "";
	size_t length = 0;

	for (uint32_t i = 0;
	     i < sample->nr && i <= SAMPLES_CALLERS_PRINTED && length < sizeof(text); i++)
		length += (size_t)snprintf(text + length, sizeof(text) - length, "%s%s",
					   i ? " < " : "", names_get(spans->names, frames[i]));
	return names_add(names, text);
}

int spans_to_tracks(const struct spans *spans, const struct arrows *arrows, const struct cpu *cpu,
		    const struct cpu_names *cpu_names, struct names *names)
{
	static const struct {
		enum lane_number lane;
		enum track_kind track;
	} lanes[] = { { LANE_CODE, TRACK_INTERRUPTS }, { LANE_TASKS, TRACK_TASKS } };

	for (size_t i = 0; i < ARRAY_SIZE(lanes); i++) {
		struct lane_writer writer = {
			.spans = spans,
			.lane = &spans->lanes[lanes[i].lane],
			.track = cpu->tracks[lanes[i].track],
			.open = SPAN_NONE,
			.cpu_names = cpu_names,
		};

		lane_writer_find_arrows(&writer, arrows, cpu->number, lanes[i].lane);
		for (uint32_t k = 0; k < writer.lane->nr; k++) {
			const struct span *span = &writer.lane->spans[k];

			lane_writer_end_until(&writer, span->parent);
			lane_writer_put_arrows(&writer, span->begin);
			/* The known window begins with the spans. */
			track_begin(writer.track,
				    span->begin < spans->begin ? spans->begin : span->begin,
				    cpu_names->category,
				    names_add(names, names_get(spans->names, span->name)));
			writer.open = k;
		}
		lane_writer_end_until(&writer, SPAN_NONE);
		lane_writer_put_arrows(&writer, UINT64_MAX);
	}
	return names_error(names);
}

int spans_samples_to_track(const struct spans *spans, const struct cpu *cpu,
			   const struct cpu_names *cpu_names, struct names *names)
{
	for (size_t i = 0; i < spans->samples.nr; i++)
		track_instant(cpu->tracks[TRACK_CODE], spans->samples.list[i].at,
			      cpu_names->category,
			      name_sample_stack(spans, &spans->samples.list[i], names), NULL, 0);
	return names_error(names);
}
