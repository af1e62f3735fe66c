// SPDX-License-Identifier: GPL-2.0-only
#include "output/fxt.h"

#include <string.h>

#include "calls/cpu.h"
#include "clock.h"
#include "code/symbolizer.h"
#include "cpulist.h"
#include "facts/arrows.h"
#include "facts/ring_calls.h"
#include "facts/spans.h"
#include "units.h"

#define DIGITS "0123456789"

/* Digits with one point. */
static int parse_window_seconds(const char *s, uint64_t *ns)
{
	_cleanup_free_ char *whole = strndup(s, strcspn(s, "."));
	const char *fraction = strchr(s, '.') + 1;
	uint64_t scale = NSEC_PER_SEC;
	uint64_t seconds;
	int err;

	if (!whole)
		return -ENOMEM;
	if (!*fraction || strlen(fraction) > 9)
		return -EINVAL;
	err = units_parse_count(whole, &seconds);
	if (err)
		return err;
	if (__builtin_mul_overflow(seconds, NSEC_PER_SEC, ns))
		return -ERANGE;
	for (; *fraction; fraction++) {
		scale /= 10;
		if (__builtin_add_overflow(*ns, (uint64_t)(*fraction - '0') * scale, ns))
			return -ERANGE;
	}
	return 0;
}

static int parse_window_relative(const char *s, uint64_t spike, uint64_t *ns)
{
	bool before = *s == '-';
	uint64_t distance;
	int err;

	if (!spike)
		return -ENOENT;
	err = units_parse_time(s + (*s == '-' || *s == '+'), &distance);
	if (err)
		return err;
	if (before)
		*ns = distance < spike ? spike - distance : 0;
	else if (__builtin_add_overflow(spike, distance, ns))
		return -ERANGE;
	return 0;
}

static int parse_window_side(const char *s, uint64_t spike, uint64_t *ns)
{
	const char *point = strchr(s, '.');

	if (!*s)
		return 0;
	if (point && strspn(s, DIGITS ".") == strlen(s) && !strchr(point + 1, '.'))
		return parse_window_seconds(s, ns);
	return parse_window_relative(s, spike, ns);
}

int time_window_parse(const char *s, uint64_t spike, uint64_t *begin, uint64_t *end)
{
	_cleanup_free_ char *first = strndup(s, strcspn(s, ","));
	const char *second = strchr(s, ',');
	uint64_t from = 0, to = UINT64_MAX;
	int err;

	if (!first)
		return -ENOMEM;
	if (!second)
		return -EINVAL;
	err = parse_window_side(first, spike, &from);
	if (!err)
		err = parse_window_side(second + 1, spike, &to);
	if (err)
		return err;
	if (to <= from)
		return -ERANGE;
	*begin = from;
	*end = to;
	return 0;
}

struct cpu_events {
	struct events_spans to;
	struct cpu *cpu;
};

struct writer {
	const struct facts *facts;
	struct tracepoints *tracepoints;
	struct user_code user;
	uint64_t begin, end;
	struct cpu_events *cpus; /* by number */
	size_t nr;
	struct arrows arrows;
	struct names *names;
	struct symbolizer *symbolizer;
	struct cpu_names cpu_names;
	struct timeline *timeline;
};

static void cpu_writer_release(struct writer *writer)
{
	for (size_t i = 0; i < writer->nr; i++) {
		spans_free(writer->cpus[i].to.spans);
		free(writer->cpus[i].cpu);
	}
	free(writer->cpus);
	arrows_release(&writer->arrows);
	user_code_release(&writer->user);
	timeline_free(writer->timeline);
	names_free(writer->names);
	symbolizer_free(writer->symbolizer);
}

/* Names are written with their lines. */
static int open_line_reader(const struct timeline_export *export, struct names *names,
			    struct symbolizer **symbolizer)
{
	_cleanup_free_ char *buildid_dir = NULL;
	int err = capture_trace_buildid_dir(export->folder, &buildid_dir);
	const struct files_places places = { .buildid_dir = buildid_dir, .symfs = export->symfs };

	err = err ?: symbolizer_new(symbolizer, &places);
	if (!err)
		names_set_lines(names, symbolizer_find_line, *symbolizer);
	return err;
}

static int find_cpu_events(struct writer *writer, int cpu, struct cpu_events **found)
{
	size_t nr = (size_t)cpu + 1;
	struct cpu_events *grown;

	*found = NULL;
	/* The file is untrusted. */
	if (cpu < 0 || cpu >= CPULIST_MAX_CPUS)
		return 0;
	if (nr > writer->nr) {
		grown = reallocarray(writer->cpus, nr, sizeof(*grown));
		if (!grown)
			return -ENOMEM;
		memset(grown + writer->nr, 0, (nr - writer->nr) * sizeof(*grown));
		writer->cpus = grown;
		writer->nr = nr;
	}
	*found = &writer->cpus[cpu];
	(*found)->to.tracepoints = writer->tracepoints;
	(*found)->to.begin = writer->begin;
	if ((*found)->to.spans)
		return 0;
	if (spans_new(&(*found)->to.spans))
		return -ENOMEM;
	(*found)->to.spans->samples.namer = user_code_name;
	(*found)->to.spans->samples.context = &writer->user;
	return 0;
}

/* Events before the window determine what is open at its begin. */
static int read_cpu_events(struct writer *writer, uint64_t *first, uint64_t *last)
{
	struct tracepoint_event event;
	struct cpu_events *cpu;

	while (tracepoints_next(writer->tracepoints, &event)) {
		int err = find_cpu_events(writer, event.cpu, &cpu);

		if (!*first)
			*first = event.time;
		*last = event.time;
		if (!err && cpu)
			err = events_spans_add_event(&cpu->to, &event);
		err = err
			      ?: arrows_add_event(&writer->arrows, writer->names,
						  writer->tracepoints, &event);
		if (err)
			return err;
	}
	return 0;
}

static void write_spike_slice(const struct writer *writer, struct cpu *cpu)
{
	const struct facts *facts = writer->facts;

	if (cpu->number != facts->spike.cpu || facts->spike.time_ns <= facts->spike.expected_ns ||
	    !facts->spike.expected_ns || facts->spike.expected_ns < writer->begin ||
	    facts->spike.time_ns > writer->end)
		return;
	cpu->now.at = facts->spike.time_ns;
	cpu_add_spike_mark(cpu, &writer->cpu_names, facts->spike.expected_ns,
			   facts->spike.latency_ns);
}

/* The names of the samples are those of the spans. */
static int write_cpu_samples(struct writer *writer, const struct cpu_events *cpu, int number,
			     struct fxt_timeline *sink)
{
	const struct samples *samples = &cpu->to.spans->samples;
	_cleanup_free_ uint32_t *frames = calloc(samples->nr_frames + 1, sizeof(*frames));
	_cleanup_free_ struct samples_file *files = calloc(samples->nr_frames + 1, sizeof(*files));
	const struct schedule *schedule = &writer->arrows.schedule;
	const struct names *names = cpu->to.spans->names;

	if (!frames || !files)
		return -ENOMEM;
	for (size_t i = 0; i < samples->nr_frames; i++) {
		frames[i] = names_add(writer->names, names_get(names, samples->frames[i]));
		files[i] = samples->files[i];
		files[i].path = names_add(writer->names, names_get(names, files[i].path));
		files[i].build_id = names_add(writer->names, names_get(names, files[i].build_id));
	}
	for (size_t i = 0; i < samples->nr && !names_error(writer->names); i++) {
		const struct sampled *sampled = &samples->list[i];

		fxt_timeline_add_sample(sink, &(struct fxt_sample){
						      .at = sampled->at,
						      .cpu = number,
						      .pid = sampled->pid,
						      .tid = sampled->tid,
						      .process_name = schedule_thread_name(
							      schedule, sampled->pid, sampled->at),
						      .thread_name = schedule_thread_name(
							      schedule, sampled->tid, sampled->at),
						      .frames = &frames[sampled->first],
						      .files = &files[sampled->first],
						      .nr = sampled->nr,
						      .nr_kernel = sampled->nr_kernel,
					      });
	}
	return names_error(writer->names);
}

/* Whether the end of an arrow is in a span of the window. */
static bool is_arrow_known(const void *context, const struct arrow_end *end)
{
	const struct writer *writer = context;
	const struct spans *spans;

	if (end->cpu < 0 || (size_t)end->cpu >= writer->nr)
		return false;
	spans = writer->cpus[end->cpu].to.spans;
	return spans && end->at >= spans->begin && end->at <= spans->end &&
	       lane_innermost_at(&spans->lanes[end->lane], end->at) != SPAN_NONE;
}

/* Ends the spans of all CPUs, and finds the arrows between them. */
static int finish_cpu_events(struct writer *writer, uint64_t last)
{
	int err = 0;

	for (size_t i = 0; i < writer->nr && !err; i++) {
		if (writer->cpus[i].to.spans)
			err = events_spans_end(&writer->cpus[i].to, last);
	}
	return err ?: arrows_finish(&writer->arrows, is_arrow_known, writer);
}

static int write_events_timeline(struct writer *writer, const struct fxt_timeline_opts *file,
				 uint64_t *slices)
{
	struct timeline_opts opts = { .end = UINT64_MAX, .ops = &fxt_timeline_ops };
	struct fxt_timeline *sink;
	uint64_t first = 0, last = 0;
	int err = read_cpu_events(writer, &first, &last);

	err = err ?: finish_cpu_events(writer, last);
	if (err)
		return err;
	err = fxt_timeline_new(&sink, file, writer->names);
	if (err)
		return err;
	opts.sink = sink;
	err = timeline_new(&writer->timeline, &opts, writer->names);
	if (!err) {
		first = first > writer->begin ? first : writer->begin;
		timeline_advance(writer->timeline, first);
	}
	for (size_t i = 0; i < writer->nr && !err; i++) {
		struct cpu_events *cpu = &writer->cpus[i];

		if (!cpu->to.spans)
			continue;
		cpu->cpu = cpu_new(writer->timeline, writer->names, &writer->cpu_names, (int)i);
		if (!cpu->cpu) {
			err = -ENOMEM;
			break;
		}
		write_spike_slice(writer, cpu->cpu);
		err = spans_to_tracks(cpu->to.spans, &writer->arrows, cpu->cpu, &writer->cpu_names,
				      writer->names);
		if (!err && fxt_timeline_has_samples(sink))
			err = write_cpu_samples(writer, cpu, (int)i, sink);
		else if (!err)
			err = spans_samples_to_track(cpu->to.spans, cpu->cpu, &writer->cpu_names,
						     writer->names);
	}
	if (!err)
		err = timeline_finish(writer->timeline, last);
	if (!err)
		*slices = timeline_slices(writer->timeline);
	fxt_timeline_free(sink);
	return err;
}

/* Functions too, of ftrace. */
static int write_calls_timeline(struct writer *writer, const struct fxt_timeline_opts *file,
				struct decoding_result *result)
{
	struct timeline_opts opts = { .begin = writer->begin,
				      .end = writer->end,
				      .ops = &fxt_timeline_ops };
	struct ring_calls_opts of = { writer->tracepoints, writer->facts, NULL, writer->names };
	_cleanup_(ring_calls_freep) struct ring_calls *calls = NULL;
	_cleanup_(code_arrows_release) struct code_arrows arrows = { .names = writer->names,
								     .begin = writer->begin,
								     .end = writer->end };
	struct fxt_timeline_opts with = *file;
	struct tracepoint_event event;
	struct fxt_timeline *sink;
	int err = code_arrows_listen(&arrows, &with);

	err = err ?: fxt_timeline_new(&sink, &with, writer->names);
	if (err)
		return err;
	opts.sink = sink;
	err = timeline_new(&writer->timeline, &opts, writer->names);
	of.timeline = writer->timeline;
	err = err ?: ring_calls_new(&calls, &of);
	while (!err && tracepoints_next(writer->tracepoints, &event)) {
		err = with.listener.ctx ? arrows_add_event(&arrows.arrows, writer->names,
							   writer->tracepoints, &event)
					: 0;
		err = err ?: ring_calls_add(calls, &event);
	}
	err = err ?: ring_calls_finish(calls, &result->end, &result->gaps);
	err = err ?: timeline_finish(writer->timeline, result->end);
	if (!err)
		result->slices = timeline_slices(writer->timeline);
	fxt_timeline_free(sink);
	return err;
}

/* Interrupts and tasks of each CPU. */
static int export_events_timeline(const struct timeline_export *export,
				  const struct fxt_timeline_opts *file,
				  struct decoding_result *result, char **why)
{
	_cleanup_(tracepoints_freep) struct tracepoints *tracepoints = NULL;
	_cleanup_(cpu_writer_release) struct writer writer = { .facts = export->facts,
							       .end = UINT64_MAX };
	struct sample_window window;
	int err = 0;

	if (export->time)
		err = time_window_parse(export->time, export->facts->spike.time_ns, &writer.begin,
					&writer.end);
	window = (struct sample_window){ .end = writer.end };
	if (!err)
		err = names_new(&writer.names);
	if (!err)
		err = cpu_names_new(&writer.cpu_names, writer.names);
	if (!err)
		err = open_line_reader(export, writer.names, &writer.symbolizer);
	writer.user.symbolizer = writer.symbolizer;
	if (!err)
		err = capture_trace_events(&tracepoints, &writer.user, export->folder, export->data,
					   export->symfs, &window, why);
	writer.tracepoints = tracepoints;
	if (!err && tracepoints_functions(tracepoints))
		err = write_calls_timeline(&writer, file, result);
	else if (!err)
		err = write_events_timeline(&writer, file, &result->slices);
	return err ? capture_failure(export->hooks, export->folder, err, why) : 0;
}

static int export_trace_timeline(const struct timeline_export *export,
				 const struct fxt_timeline_opts *file,
				 struct decoding_result *result, char **why)
{
	struct decoding decoding = {
		.hooks = export->hooks,
		.folder = export->folder,
		.data = export->data,
		.symfs = export->symfs,
		.inlined = true,
		.facts = export->facts,
		.doing = "exporting",
		.cpu = -1,
		.threads = export->threads ?: decoding_threads(),
		.axis = export->axis,
		.end = UINT64_MAX,
	};
	_cleanup_(symbolizer_freep) struct symbolizer *symbolizer = NULL;
	_cleanup_(code_arrows_release) struct code_arrows arrows = { .export = export };
	struct fxt_timeline_opts with = *file;
	struct fxt_timeline *sink = NULL;
	struct names *names = NULL;
	int err = 0;

	if (export->time)
		err = time_window_parse(export->time, export->facts->spike.time_ns, &decoding.begin,
					&decoding.end);
	if (!err)
		err = names_new(&names);
	if (!err)
		err = open_line_reader(export, names, &symbolizer);
	decoding.symbolizer = symbolizer;
	arrows.names = names;
	arrows.begin = decoding.begin;
	arrows.end = decoding.end;
	/* Events have times only. */
	if (!err && export->axis == CALLS_TIME)
		err = code_arrows_listen(&arrows, &with);
	if (!err)
		err = fxt_timeline_new(&sink, &with, names);
	if (err)
		err = capture_failure(export->hooks, export->folder, err, why);
	else
		err = decoding_run_calls(&decoding, &fxt_timeline_ops, sink, names, result, why);
	if (!err && decoding.axis == CALLS_CYCLES && !result->end)
		err = failure_explain(why, -ENODATA,
				      "--axis cycles: '%s' has no cycles: use --axis instructions, "
				      "or record with the term cyc of intel_pt",
				      export->folder);
	fxt_timeline_free(sink);
	names_free(names);
	return err;
}

int timeline_export(const struct timeline_export *export, const struct fxt_timeline_opts *file,
		    struct decoding_result *result, char **why)
{
	*result = (struct decoding_result){ 0 };
	if (!facts_is_pt(export->facts))
		return export_events_timeline(export, file, result, why);
	return export_trace_timeline(export, file, result, why);
}
