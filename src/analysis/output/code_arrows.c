// SPDX-License-Identifier: GPL-2.0-only
/* Arrows in the timeline of a decoded trace. It has the interrupts; the events beside it have who
 * sent them, and who woke whom. */
#include "array.h"
#include "output/fxt.h"

/* An interrupt of Intel PT has the time of the packet before it. */
#define PT_STEP_NS 1000

static void code_arrows_see_interrupt(void *ctx, int cpu, uint64_t at, uint32_t name)
{
	struct code_arrows *arrows = ctx;
	const char *function = names_get(arrows->names, name);
	enum sender_kind kind;

	if (arrows->err || !sender_kind_of_interrupt(function, &kind))
		return;
	if (!arrows->export) {
		arrows->err = arrows_add_interrupt(&arrows->arrows, cpu, at, function, 0);
		return;
	}
	arrows->err = array_grow(&arrows->interrupts, arrows->nr, sizeof(*arrows->interrupts));
	if (!arrows->err)
		arrows->interrupts[arrows->nr++] =
			(struct code_interrupt){ .at = at, .cpu = cpu, .name = name };
}

static int compare_interrupts(const void *a, const void *b)
{
	const struct code_interrupt *one = a, *other = b;

	return array_compare(one->at, other->at);
}

/* Of a sorted list, those from *next on that no event before `until` can have asked for. */
static int add_interrupts(struct code_arrows *arrows, size_t *next, uint64_t until)
{
	int err = 0;

	for (; !err && *next < arrows->nr; (*next)++) {
		const struct code_interrupt *one = &arrows->interrupts[*next];

		if (until - one->at <= PT_STEP_NS || until < one->at)
			break;
		err = arrows_add_interrupt(&arrows->arrows, one->cpu, one->at,
					   names_get(arrows->names, one->name), PT_STEP_NS);
	}
	return err;
}

static int read_events_beside(struct code_arrows *arrows)
{
	const struct timeline_export *export = arrows->export;
	_cleanup_(tracepoints_freep) struct tracepoints *tracepoints = NULL;
	_cleanup_(user_code_release) struct user_code user = {};
	const struct sample_window window = { .end = arrows->end };
	_cleanup_free_ char *why = NULL;
	struct tracepoint_event event;
	size_t next = 0;
	int err = capture_trace_events(&tracepoints, &user, export->folder, export->data,
				       export->symfs, &window, &why);

	/* There need not be any. */
	if (err)
		return err == -ENOMEM ? err : 0;
	if (arrows->nr)
		qsort(arrows->interrupts, arrows->nr, sizeof(*arrows->interrupts),
		      compare_interrupts);
	while (!err && tracepoints_next(tracepoints, &event)) {
		err = add_interrupts(arrows, &next, event.time);
		err = err ?: arrows_add_event(&arrows->arrows, arrows->names, tracepoints, &event);
	}
	return err ?: add_interrupts(arrows, &next, UINT64_MAX);
}

/* The events may begin long before the trace. */
static bool is_in_trace(const void *ctx, const struct arrow_end *end)
{
	const struct code_arrows *arrows = ctx;

	return end->at >= (end->is_begin ? arrows->begin : arrows->first) &&
	       end->at <= (end->is_begin ? arrows->end : arrows->last);
}

/* Sorted by CPU and lane. A CPU that was not traced has a track for them alone. */
static void write_arrow_ends(struct code_arrows *arrows, struct fxt_timeline *sink)
{
	const struct arrow_end *before = NULL;
	void *track = NULL;

	for (size_t i = 0; i < arrows->arrows.nr; i++) {
		const struct arrow_end *end = &arrows->arrows.ends[i];
		const struct track_event event = {
			.type = end->is_begin ? TRACK_FLOW_BEGIN : TRACK_FLOW_END,
			.at = end->at,
			.category = arrows->cpu_names.category,
			.name = end->is_wakeup ? arrows->cpu_names.wakeup : arrows->cpu_names.sent,
			.flow = end->flow,
		};

		if (!before || before->cpu != end->cpu || before->lane != end->lane) {
			const struct track_id id = cpu_track_id(
				arrows->names, &arrows->cpu_names, end->cpu,
				end->lane == LANE_CODE ? TRACK_INTERRUPTS : TRACK_TASKS);

			track = fxt_timeline_ops.track(sink, &id);
		}
		before = end;
		if (track)
			fxt_timeline_ops.event(sink, track, &event);
	}
}

static int code_arrows_end(void *ctx, struct fxt_timeline *sink)
{
	struct code_arrows *arrows = ctx;
	int err = arrows->err;

	if (!err && arrows->export)
		err = read_events_beside(arrows);
	fxt_timeline_find_range(sink, &arrows->first, &arrows->last);
	err = err ?: arrows_finish(&arrows->arrows, is_in_trace, arrows);
	if (!err)
		write_arrow_ends(arrows, sink);
	return err ?: names_error(arrows->names);
}

int code_arrows_listen(struct code_arrows *arrows, struct fxt_timeline_opts *opts)
{
	const struct trace_format *format = trace_format_of(opts->path);

	if (!format || !format->in_any_order)
		return 0;
	arrows->arrows.by_code = true;
	opts->listener.interrupt = code_arrows_see_interrupt;
	opts->listener.end = code_arrows_end;
	opts->listener.ctx = arrows;
	return cpu_names_new(&arrows->cpu_names, arrows->names)
		       ?: arrows_watch_cpu(&arrows->arrows,
					   opts->facts ? opts->facts->spike.cpu : -1);
}

void code_arrows_release(struct code_arrows *arrows)
{
	arrows_release(&arrows->arrows);
	free(arrows->interrupts);
}
