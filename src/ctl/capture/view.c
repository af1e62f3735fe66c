// SPDX-License-Identifier: GPL-2.0-only
#include "capture/view.h"

#include <inttypes.h>
#include <stdarg.h>
#include <string.h>

#define NS_PER_S UINT64_C(1000000000)
/* More than view_argv() adds of its own. */
#define MAX_WORDS 24

struct words {
	char **argv;
	size_t nr;
	int r;
};

/* What fails is kept, and checked at the end. */
static void _printf_(2, 3) add(struct words *words, const char *format, ...)
{
	va_list args;

	if (words->r)
		return;
	va_start(args, format);
	if (vasprintf(&words->argv[words->nr], format, args) < 0) {
		words->argv[words->nr] = NULL;
		words->r = -ENOMEM;
	} else {
		words->nr++;
	}
	va_end(args);
}

/* The trace ends by itself: until it stood still there is only the trigger, or the skid. Events
 * after the spike are those of perf-poke itself, and are of the CPU's next work. */
static void add_window(struct words *words, const struct view_capture *capture, uint64_t window_ns)
{
	uint64_t end = capture->spike_ns;
	uint64_t begin = end > window_ns ? end - window_ns : 0;

	add(words, "--time");
	if (capture->kind == VIEW_PT)
		add(words, "%" PRIu64 ".%09" PRIu64 ",", begin / NS_PER_S, begin % NS_PER_S);
	else
		add(words, "%" PRIu64 ".%09" PRIu64 ",%" PRIu64 ".%09" PRIu64, begin / NS_PER_S,
		    begin % NS_PER_S, end / NS_PER_S, end % NS_PER_S);
}

/* What --call-ret-trace and --insn-trace are short for, but for the sample's line, of which they
 * leave nothing: they change all kinds of events, and perf warns of a field asked for after that.
 */
static void add_trace_by_kind(struct words *words, enum view_insns insns)
{
	const char *fields = "-ip,-addr,-event,-period,-dso,+callindent,+flags";

	if (insns == VIEW_INSNS_DISASM)
		fields = "-event,-period,+disasm";
	else if (insns != VIEW_INSNS_NONE)
		fields = "-event,-period,+insn";
	add(words, "--itrace=%s", insns == VIEW_INSNS_NONE ? "crewp" : "i0nse");
	add(words, "-F");
	add(words, "hw:%s", fields);
	add(words, "-F");
	add(words, "synth:%s", fields);
}

static void add_trace(struct words *words, const struct view_capture *capture,
		      enum view_insns insns)
{
	if (capture->sampled) {
		add_trace_by_kind(words, insns);
	} else if (insns == VIEW_INSNS_NONE) {
		add(words, "--call-ret-trace");
		/* That almost all of it is the kernel is known. */
		add(words, "-F");
		add(words, "-dso");
	} else {
		add(words, "--insn-trace%s", insns == VIEW_INSNS_DISASM ? "=disasm" : "");
	}
	if (insns == VIEW_INSNS_XED)
		add(words, "--xed");
}

const char *view_kind_name(enum view_kind kind)
{
	static const char *const names[] = {
		[VIEW_EVENTS] = "events",
		[VIEW_PT] = "pt",
		[VIEW_PERF] = "perf",
	};
	_Static_assert(ARRAY_SIZE(names) == VIEW_NR, "each has a name");

	return names[kind];
}

int view_argv(const struct view_capture *capture, const struct view_options *options,
	      const char *perf, const char *data, char ***argv)
{
	uint64_t window_ns = capture->kind == VIEW_PT ? VIEW_WINDOW_PT_NS : VIEW_WINDOW_EVENTS_NS;
	struct words words = { 0 };
	size_t nr_rest = 0;

	while (options->rest && options->rest[nr_rest])
		nr_rest++;
	words.argv = calloc(MAX_WORDS + nr_rest, sizeof(*words.argv));
	if (!words.argv)
		return -ENOMEM;
	add(&words, "%s", perf);
	if (options->buildid_dir) {
		add(&words, "--buildid-dir");
		add(&words, "%s", options->buildid_dir);
	}
	add(&words, "script");
	add(&words, "-i");
	add(&words, "%s", data);
	add(&words, "--ns");
	if (options->cpus) {
		add(&words, "-C");
		add(&words, "%s", options->cpus);
	} else if (capture->cpu >= 0 && !options->all_cpus) {
		add(&words, "-C");
		add(&words, "%d", capture->cpu);
	}
	if (!options->all && !capture->no_times)
		add_window(&words, capture, options->window_ns ?: window_ns);
	if (capture->kind == VIEW_PT)
		add_trace(&words, capture, options->insns);
	for (size_t i = 0; i < nr_rest; i++)
		add(&words, "%s", options->rest[i]);
	if (words.r)
		view_free_argv(&words.argv);
	else
		*argv = words.argv;
	return words.r;
}

void view_free_argv(char ***argv)
{
	for (char **word = *argv; word && *word; word++)
		free(*word);
	free(*argv);
	*argv = NULL;
}
