// SPDX-License-Identifier: GPL-2.0-only
/* Prints the CPU tracks of a timeline as lines of text. */
#include <inttypes.h>

#include "capture/capture_trace.h"
#include "capture/decoding.h"
#include "clock.h"
#include "script/script.h"
#include "text.h"
#include "units.h"

#define INDENT_MAX 60

/* A printed track of the timeline. */
struct text_track {
	struct text_cpu *cpu;
	enum track_kind kind;
};

struct text_cpu {
	int number;
	uint32_t task; /* name */
	int depth;
	struct text_track tracks[TRACK_NR_OF_CPU];
	struct text_cpu *next;
};

struct text {
	FILE *out;
	struct names *names;
	int *numbers; /* of the CPUs shown */
	size_t nr;    /* 0: all */
	bool counted;
	struct text_cpu *cpus;
	int r;
};

static void release(struct text *text)
{
	while (text->cpus) {
		struct text_cpu *cpu = text->cpus;

		text->cpus = cpu->next;
		free(cpu);
	}
	names_free(text->names);
	free(text->numbers);
}

static bool is_shown(const struct text *text, const struct track_id *id)
{
	bool shown = !text->nr;

	for (size_t i = 0; i < text->nr; i++)
		shown |= text->numbers[i] == id->cpu;
	return shown &&
	       (id->kind == TRACK_CODE || id->kind == TRACK_TASKS || id->kind == TRACK_TRACE);
}

static struct text_cpu *find_cpu(struct text *text, int number)
{
	struct text_cpu *cpu = text->cpus;

	while (cpu && cpu->number != number)
		cpu = cpu->next;
	if (cpu)
		return cpu;
	cpu = calloc(1, sizeof(*cpu));
	if (cpu) {
		cpu->number = number;
		cpu->next = text->cpus;
		text->cpus = cpu;
	}
	return cpu;
}

static void *add_track(void *sink, const struct track_id *id)
{
	struct text *text = sink;
	struct text_cpu *cpu;

	if (!is_shown(text, id))
		return NULL;
	cpu = find_cpu(text, id->cpu);
	if (!cpu) {
		text->r = -ENOMEM;
		return NULL;
	}
	cpu->tracks[id->kind] = (struct text_track){ cpu, id->kind };
	return &cpu->tracks[id->kind];
}

static void print_line(const struct text *text, const struct text_cpu *cpu, uint64_t at,
		       const char *name)
{
	const char *task = cpu->task ? names_get(text->names, cpu->task) : "";
	int indent = 2 * cpu->depth;

	fprintf(text->out, "%22s [%03d] ", CLEAN(task), cpu->number);
	if (text->counted)
		fprintf(text->out, "%15" PRIu64, at);
	else
		fprintf(text->out, "%5" PRIu64 ".%09" PRIu64, at / NSEC_PER_SEC, at % NSEC_PER_SEC);
	fprintf(text->out, ": %*s%s\n", indent < INDENT_MAX ? indent : INDENT_MAX, "", CLEAN(name));
}

static void on_event(void *sink, void *end, const struct track_event *event)
{
	struct text *text = sink;
	struct text_track *track = end;
	struct text_cpu *cpu = track->cpu;
	bool begins = event->type == TRACK_BEGIN;

	if (text->r || (!begins && event->type != TRACK_END))
		return;
	if (track->kind == TRACK_TASKS) {
		cpu->task = begins ? event->name : 0;
		return;
	}
	if (begins)
		print_line(text, cpu, event->at, names_get(text->names, event->name));
	if (track->kind == TRACK_CODE)
		cpu->depth += begins ? 1 : -1;
	if (ferror(text->out))
		text->r = -EIO;
}

/* Late slices enclose what has been printed already. */
static void on_late(void *sink, void *end, const struct track_late *late)
{
	const struct text_track *track = end;

	if (track->kind == TRACK_CODE && !late->ends)
		track->cpu->depth++;
}

static int finish(void *sink)
{
	struct text *text = sink;

	return text->r ?: fflush(text->out) ? -errno : 0;
}

static const struct timeline_ops ops = {
	.track = add_track,
	.event = on_event,
	.late = on_late,
	.finish = finish,
};

static int print_all(struct console *con, const struct script_args *args, const struct facts *facts,
		     const char *data, struct text *text)
{
	uint64_t window_ns = args->view.window_ns ?: VIEW_WINDOW_PT_NS;
	bool all = args->view.all || facts->no_times;
	const struct decoding decoding = {
		.folder = args->capture,
		.data = data,
		.facts = facts,
		.doing = "decoding",
		.cpu = text->nr == 1 ? *text->numbers : -1,
		.threads = decoding_threads(),
		.axis = facts->no_times ? CALLS_INSNS : CALLS_TIME,
		.begin = all || facts->spike.time_ns < window_ns ? 0
								 : facts->spike.time_ns - window_ns,
		.end = UINT64_MAX,
	};
	struct decoding_result result;
	int r = decoding_run(con, &decoding, &ops, text, text->names, &result);

	if (result.stats.errors)
		console_warn(con, "%s, first: %s",
			     FORMAT_COUNT(result.stats.errors, "decoding error", "decoding errors"),
			     result.stats.first_error);
	return r;
}

enum exit_code script_calls(struct console *con, const struct script_args *args,
			    const struct facts *facts, const char *data)
{
	_cleanup_(release) struct text text = { .out = con->out, .counted = facts->no_times };
	int r = script_cpus(args, facts, &text.numbers, &text.nr);

	if (!r)
		r = names_new(&text.names);
	if (r)
		capture_trace_error(con, args->capture, r, NULL);
	else
		r = print_all(con, args, facts, data, &text);
	return r ? EXIT_FAILED : EXIT_FINE;
}
