// SPDX-License-Identifier: GPL-2.0-only
/* A timeline whose tracks of CPUs go to lines of text. */
#include "script/calls.h"

#include <inttypes.h>
#include <signal.h>
#include <string.h>

#include "capture/decoding.h"
#include "cpulist.h"
#include "printable.h"

#define NS_PER_S UINT64_C(1000000000)
#define INDENT_MAX 60

struct text_cpu {
	int number;
	uint32_t task; /* name */
	int depth;
	struct text_cpu *next;
};

struct text_track {
	struct text_cpu *cpu;
	enum track_kind kind;
	struct text_track *next;
};

struct text {
	FILE *out;
	struct names *names;
	const int *numbers; /* of CPUs that are shown */
	size_t nr;	    /* 0: all */
	bool counted;
	struct text_cpu *cpus;
	struct text_track *tracks;
	int r;
};

static void release(struct text *text)
{
	while (text->tracks) {
		struct text_track *track = text->tracks;

		text->tracks = track->next;
		free(track);
	}
	while (text->cpus) {
		struct text_cpu *cpu = text->cpus;

		text->cpus = cpu->next;
		free(cpu);
	}
	names_free(text->names);
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
	struct text_track *track;

	if (!is_shown(text, id))
		return NULL;
	track = calloc(1, sizeof(*track));
	if (track)
		track->cpu = find_cpu(text, id->cpu);
	if (!track || !track->cpu) {
		free(track);
		text->r = -ENOMEM;
		return NULL;
	}
	track->kind = id->kind;
	track->next = text->tracks;
	text->tracks = track;
	return track;
}

static void rename_track(void *sink, void *track, const struct track_id *id, bool open)
{
	(void)sink;
	(void)track;
	(void)id;
	(void)open;
}

static void begin_part(void *sink, uint32_t number, uint64_t at)
{
	(void)sink;
	(void)number;
	(void)at;
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
		fprintf(text->out, "%5" PRIu64 ".%09" PRIu64, at / NS_PER_S, at % NS_PER_S);
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

static void restart(void *sink, void *track)
{
	(void)sink;
	(void)track;
}

/* What is around has been printed. */
static void on_late(void *sink, void *end, const struct track_late *late)
{
	const struct text_track *track = end;

	(void)sink;
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
	.rename = rename_track,
	.part = begin_part,
	.event = on_event,
	.restart = restart,
	.late = on_late,
	.finish = finish,
};

static int choose_cpus(const struct script_args *args, const struct view_capture *capture,
		       struct text *text, int **cpus)
{
	if (args->view.cpus) {
		int r = cpulist_parse(args->view.cpus, cpus, &text->nr);

		text->numbers = *cpus;
		return r;
	}
	if (capture->cpu >= 0 && !args->view.all_cpus) {
		text->numbers = &capture->cpu;
		text->nr = 1;
	}
	return 0;
}

static int print_all(struct console *con, const struct script_args *args,
		     const struct view_capture *capture, const char *data, struct text *text,
		     bool *said)
{
	uint64_t window_ns = args->view.window_ns ?: VIEW_WINDOW_PT_NS;
	bool all = args->view.all || capture->no_times;
	const struct decoding decoding = {
		.folder = args->capture,
		.data = data,
		.capture = capture,
		.doing = "decoding",
		.cpu = text->nr == 1 ? *text->numbers : -1,
		.threads = decoding_threads(),
		.axis = capture->no_times ? CALLS_INSNS : CALLS_TIME,
		.begin = all || capture->spike_ns < window_ns ? 0 : capture->spike_ns - window_ns,
		.end = UINT64_MAX,
	};
	struct decoding_result result = { 0 };
	int r = decoding_run(con, &decoding, &ops, text, text->names, &result, said);

	if (result.stats.errors)
		console_warn(con, "%" PRIu64 " errors of decoding, the first: %s",
			     result.stats.errors, result.stats.first_error);
	return r;
}

enum exit_code script_calls(struct console *con, const struct script_args *args,
			    const struct view_capture *capture, const char *data)
{
	_cleanup_(release) struct text text = { .out = con->out, .counted = capture->no_times };
	_cleanup_free_ int *cpus = NULL;
	bool said = false;
	int r;

	if (!args->quiet)
		console_info(con, "there is no perf in PATH: this is what perf-poke itself shows");
	/* As perf does when what reads it goes away. */
	signal(SIGPIPE, SIG_DFL);
	r = choose_cpus(args, capture, &text, &cpus);
	if (!r)
		r = names_new(&text.names);
	if (!r)
		r = print_all(con, args, capture, data, &text, &said);
	if (r && !said)
		console_error(con, "'%s': %s", args->capture, strerror(-r));
	return r ? EXIT_FAILED : EXIT_FINE;
}
