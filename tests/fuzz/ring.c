// SPDX-License-Identifier: GPL-2.0-only
#include <string.h>
#include <sys/mman.h>

#include "calls/timeline.h"
#include "events/tracepoints.h"
#include "facts/ring_calls.h"
#include "facts/spans.h"
#include "ftrace/trace_dat.h"
#include "fuzz.h"

#define BEGIN 200
#define END 100000

static int open_image(struct tracepoints **tracepoints, const uint8_t *data, size_t size)
{
	void *image = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	struct trace_dat *dat;
	int r;

	must(image != MAP_FAILED);
	memcpy(image, data, size);
	r = trace_dat_of_image(&dat, image, size);
	must(!r || r == -EINVAL);
	if (!r)
		must(!tracepoints_of_trace_dat(tracepoints, dat));
	return r;
}

static void check_lane(const struct spans *spans, const struct lane *lane)
{
	for (uint32_t i = 0; i < lane->nr; i++) {
		const struct span *span = &lane->spans[i];

		must(span->begin <= span->end && span->end <= spans->end);
		must(span->parent == SPAN_NONE ? !span->depth : span->parent < i);
		must(span->parent == SPAN_NONE || lane->spans[span->parent].end >= span->end);
		must(*names_get(spans->names, span->name));
	}
}

static void read_callchain(struct tracepoints *tracepoints, const struct tracepoint_event *event)
{
	uint64_t at = 0, address;

	while (tracepoints_frame(&event->callchain, &at, &address))
		tracepoints_function(tracepoints, address);
}

int fuzz_one(const uint8_t *data, size_t size)
{
	const struct facts facts = { .spike = { .expected_ns = 500, .time_ns = 900, .cpu = 1 } };
	struct timeline_opts window = { .begin = BEGIN, .end = END, .ops = &track_spans_ops };
	_cleanup_(tracepoints_freep) struct tracepoints *tracepoints = NULL;
	_cleanup_(track_spans_freep) struct track_spans *sink = NULL;
	_cleanup_(ring_calls_freep) struct ring_calls *calls = NULL;
	_cleanup_(spans_freep) struct spans *spans = NULL;
	struct tracepoint_event event;
	struct ring_calls_opts opts;
	uint64_t last = 0, at, gaps;
	int r = size ? open_image(&tracepoints, data, size) : -EINVAL;

	if (r)
		return r;
	must(!spans_new(&spans) && !track_spans_new(&sink, spans, 1));
	window.sink = sink;
	opts = (struct ring_calls_opts){ tracepoints, &facts, NULL, spans->names };
	must(!timeline_new(&opts.timeline, &window, spans->names) &&
	     !ring_calls_new(&calls, &opts));
	while (tracepoints_next(tracepoints, &event)) {
		must(event.time >= last);
		last = event.time;
		read_callchain(tracepoints, &event);
		must(!ring_calls_add(calls, &event));
	}
	must(!ring_calls_finish(calls, &at, &gaps));
	r = timeline_finish(opts.timeline, at);
	must(!r || r == -ENODATA || r == -E2BIG);
	timeline_free(opts.timeline);
	for (size_t i = 0; i < LANE_NR && !r; i++)
		check_lane(spans, &spans->lanes[i]);
	return 0;
}
