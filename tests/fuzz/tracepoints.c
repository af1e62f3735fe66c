// SPDX-License-Identifier: GPL-2.0-only
#include "events/tracepoints.h"

#include <string.h>

#include "facts/spans.h"
#include "fuzz.h"
#include "text.h"

#define BEGIN 100
#define END 1000000

static void read_fields(const struct tracepoint_event *event)
{
	static const char *const fields[] = { "common_type", "common_pid", "vec",  "irq",
					      "name",	     "prev_comm",  "dev",  "cmd",
					      "function",    "next_pid",   "value" };
	uint64_t value;
	char text[24];

	for (size_t i = 0; i < ARRAY_SIZE(fields); i++) {
		tracepoint_number(event, fields[i], &value);
		must(tracepoint_text(event, fields[i], text, sizeof(text)) || !*text);
		must(strlen(text) < sizeof(text));
	}
}

static void read_events(struct tracepoints *tracepoints)
{
	struct tracepoint_event event;
	uint64_t last = 0;

	while (tracepoints_next(tracepoints, &event)) {
		must(event.time >= last && event.time >= BEGIN && event.time <= END);
		last = event.time;
		read_fields(&event);
	}
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

/* Spans of a report. */
static void read_spans(const struct perfdata_file *file, const struct sample_window *window)
{
	_cleanup_(tracepoints_freep) struct tracepoints *tracepoints = NULL;
	_cleanup_(spans_freep) struct spans *spans = NULL;
	_cleanup_(schedule_release) struct schedule schedule = { 0 };
	struct senders senders = { 0 };
	_cleanup_free_ char *why = NULL;
	int r;

	must(!tracepoints_new(&tracepoints, file, window, &why) && !spans_new(&spans));
	r = events_spans_read(tracepoints, -1, BEGIN + 150, window->end, spans, &senders,
			      &schedule);
	must(!r || r == -ENODATA || r == -E2BIG);
	for (size_t i = 0; i < LANE_NR; i++)
		check_lane(spans, &spans->lanes[i]);
}

int fuzz_one(const uint8_t *data, size_t size)
{
	const struct sample_window window = { .begin = BEGIN, .end = END };
	_cleanup_close_ int fd = fuzz_file(data, size);
	_cleanup_(tracepoints_freep) struct tracepoints *tracepoints = NULL;
	_cleanup_free_ char *why = NULL;
	struct perfdata_file file;
	int r;

	r = perfdata_map(&file, fd);
	if (r)
		return r;
	r = tracepoints_new(&tracepoints, &file, &window, &why);
	must(!r == !why);
	if (!r)
		read_events(tracepoints);
	tracepoints_free(TAKE_PTR(tracepoints));
	if (!r)
		read_spans(&file, &window);
	perfdata_unmap(&file);
	return r;
}
