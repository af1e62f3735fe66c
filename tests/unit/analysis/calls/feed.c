// SPDX-License-Identifier: GPL-2.0-only
/*
 * Output of struct calls for a synthetic program: see feeder.h. Prints the numbers of slices and of
 * gaps.
 * usage: feed output=FILE|spans=CPU [axis=KIND] [time=BEGIN,END]
 *	[spike=NS] [expected=NS] [latency=NS] [spike-cpu=CPU] [max-strings=N] [max-threads=N]
 * With spans=CPU prints those: lane, depth, begin, end, instructions, cycles, cut, name.
 */
#include "feeder.h"

#include <fcntl.h>
#include <sys/mman.h>

#include "facts/spans.h"
#include "output/fxt.h"

struct args {
	const char *output;
	int spans;
	struct timeline_opts timeline;
	struct calls_opts calls;
	struct fxt_timeline_opts fxt;
};

static bool take_word(struct args *args, const char *word)
{
	static const char *const axes[] = { "axis=time", "axis=cycles", "axis=instructions" };
	unsigned int number;

	for (size_t i = 0; i < ARRAY_SIZE(axes); i++) {
		if (strcmp(word, axes[i]))
			continue;
		args->calls.axis = (enum calls_axis)i;
		args->timeline.counted = i != CALLS_TIME;
		return true;
	}
	if (!strncmp(word, "output=", 7))
		args->fxt.path = args->output = word + 7;
	else if (sscanf(word, "max-strings=%u", &number) == 1)
		args->fxt.max_strings = (uint16_t)number;
	else if (sscanf(word, "max-threads=%u", &number) == 1)
		args->fxt.max_threads = (uint8_t)number;
	else
		return sscanf(word, "spans=%d", &args->spans) == 1 ||
		       sscanf(word, "time=%" SCNu64 ",%" SCNu64, &args->timeline.begin,
			      &args->timeline.end) == 2 ||
		       sscanf(word, "spike=%" SCNu64, &args->calls.spike) == 1 ||
		       sscanf(word, "expected=%" SCNu64, &args->calls.expected) == 1 ||
		       sscanf(word, "latency=%" SCNu64, &args->calls.latency_ns) == 1 ||
		       sscanf(word, "spike-cpu=%d", &args->calls.spike_cpu) == 1;
	return true;
}

static void print_lane(const struct spans *spans, size_t number)
{
	const struct lane *lane = &spans->lanes[number];

	for (uint32_t i = 0; i < lane->nr; i++) {
		const struct span *span = &lane->spans[i];

		printf("%zu %d %" PRIu64 " %" PRIu64 " %" PRIu64 " %" PRIu64 " %d %s\n", number,
		       span->depth, span->begin, span->end, span->insns, span->cycles, span->cut,
		       names_get(spans->names, span->name));
		feeder_must(span->parent == SPAN_NONE
				    ? !span->depth
				    : span->depth == lane->spans[span->parent].depth + 1,
			    "a span has not its parent's depth");
	}
}

static int run_spans(struct feeder *feeder, struct args *args)
{
	struct track_spans *sink;
	struct spans *spans;
	int r;

	feeder_must(!spans_new(&spans), "no memory");
	feeder_must(!track_spans_new(&sink, spans, args->spans), "no memory");
	feeder->names = spans->names;
	args->timeline.ops = &track_spans_ops;
	args->timeline.sink = sink;
	r = feeder_run(feeder, &args->calls, &args->timeline, true);
	for (size_t i = 0; i < LANE_NR && !r; i++)
		print_lane(spans, i);
	track_spans_free(sink);
	spans_free(spans);
	return r == -ENODATA ? 0 : r;
}

static int run_file(struct feeder *feeder, struct args *args)
{
	struct fxt_timeline *sink;
	int r;

	feeder_must(!names_new(&feeder->names), "no memory");
	args->fxt.fd = open(args->output, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
	feeder_must(args->fxt.fd >= 0, args->output);
	args->fxt.body = memfd_create("body", MFD_CLOEXEC);
	feeder_must(args->fxt.body >= 0, "memfd");
	feeder_must(!fxt_timeline_new(&sink, &args->fxt, feeder->names), args->output);
	args->timeline.ops = &fxt_timeline_ops;
	args->timeline.sink = sink;
	r = feeder_run(feeder, &args->calls, &args->timeline, true);
	fxt_timeline_free(sink);
	names_free(feeder->names);
	return r;
}

int main(int argc, char **argv)
{
	static struct feeder feeder;
	struct args args = { .timeline.end = UINT64_MAX, .calls.spike_cpu = -1 };
	int r;

	for (int i = 1; i < argc; i++)
		feeder_must(take_word(&args, argv[i]), argv[i]);
	r = args.output ? run_file(&feeder, &args) : run_spans(&feeder, &args);
	feeder_must(!r, strerror(-r));
	return 0;
}
