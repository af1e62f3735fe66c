// SPDX-License-Identifier: GPL-2.0-only
#include "facts/spans_tracks.h"

#include <string.h>

#define STACK_TEXT 256

struct lane_writer {
	const struct spans *spans;
	const struct lane *lane;
	struct track *track;
	uint32_t category;
	struct names *names;
	uint32_t open; /* innermost open span */
};

/* The known window begins with the spans. */
static uint64_t clamp(const struct lane_writer *writer, uint64_t at)
{
	return at < writer->spans->begin ? writer->spans->begin : at;
}

/* Ends all open spans that do not enclose the next one. */
static void end_until(struct lane_writer *writer, uint32_t parent)
{
	while (writer->open != parent && writer->open != SPAN_NONE) {
		const struct span *span = &writer->lane->spans[writer->open];

		if (span->cut && span->end >= writer->spans->end)
			return;
		track_end(writer->track, clamp(writer, span->end), NULL, 0);
		writer->open = span->parent;
	}
}

static void write_lane(struct lane_writer *writer)
{
	for (uint32_t i = 0; i < writer->lane->nr; i++) {
		const struct span *span = &writer->lane->spans[i];
		const char *name = names_get(writer->spans->names, span->name);

		end_until(writer, span->parent);
		track_begin(writer->track, clamp(writer, span->begin), writer->category,
			    names_add(writer->names, name));
		writer->open = i;
	}
	end_until(writer, SPAN_NONE);
}

/* Such as `acme_flush < foo < bar`. */
static uint32_t name_sample(const struct lane_writer *writer, const struct sampled *sample)
{
	const uint32_t *frames = &writer->spans->samples.frames[sample->first];
	char text[STACK_TEXT] = "";
	size_t length = 0;

	for (uint32_t i = 0;
	     i < sample->nr && i <= SAMPLES_CALLERS_PRINTED && length < sizeof(text); i++)
		length += (size_t)snprintf(text + length, sizeof(text) - length, "%s%s",
					   i ? " < " : "",
					   names_get(writer->spans->names, frames[i]));
	return names_add(writer->names, text);
}

static void write_samples(const struct lane_writer *writer)
{
	const struct samples *samples = &writer->spans->samples;

	for (size_t i = 0; i < samples->nr; i++)
		track_instant(writer->track, samples->list[i].at, writer->category,
			      name_sample(writer, &samples->list[i]), NULL, 0);
}

int spans_to_tracks(const struct spans *spans, const struct cpu *cpu,
		    const struct cpu_names *cpu_names, struct names *names)
{
	static const struct {
		enum lane_number lane;
		enum track_kind track;
	} lanes[] = { { LANE_CODE, TRACK_INTERRUPTS }, { LANE_TASKS, TRACK_TASKS } };

	for (size_t i = 0; i < ARRAY_SIZE(lanes); i++)
		write_lane(&(struct lane_writer){
			.spans = spans,
			.lane = &spans->lanes[lanes[i].lane],
			.track = cpu->tracks[lanes[i].track],
			.category = cpu_names->category,
			.names = names,
			.open = SPAN_NONE,
		});
	write_samples(&(struct lane_writer){
		.spans = spans,
		.track = cpu->tracks[TRACK_CODE],
		.category = cpu_names->category,
		.names = names,
	});
	return names_error(names);
}
