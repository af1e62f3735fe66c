// SPDX-License-Identifier: GPL-2.0-only
#include "capture/captures.h"

#include <inttypes.h>
#include <string.h>

#include "cli/cli.h"
#include "clock.h"

/* Intel PT is not limited at its end: after the spike come the trigger and the skid only. Events
 * after the spike are perf-poke's own and of unrelated work. */
static void add_window(struct argv_builder *words, const struct facts *facts, uint64_t window_ns)
{
	uint64_t end = facts->spike.time_ns;
	uint64_t begin = end > window_ns ? end - window_ns : 0;

	argv_builder_add(words, "--time");
	if (facts_is_pt(facts))
		argv_builder_add(words, "%" PRIu64 ".%09" PRIu64 ",", begin / NSEC_PER_SEC,
				 begin % NSEC_PER_SEC);
	else
		argv_builder_add(words, "%" PRIu64 ".%09" PRIu64 ",%" PRIu64 ".%09" PRIu64,
				 begin / NSEC_PER_SEC, begin % NSEC_PER_SEC, end / NSEC_PER_SEC,
				 end % NSEC_PER_SEC);
}

/* The expansion of --call-ret-trace and --insn-trace, restricted to trace events: these options
 * would strip the line of the sample as well, and perf warns about fields restored later. */
static void add_trace_by_kind(struct argv_builder *words, enum view_insns insns)
{
	const char *fields = "-ip,-addr,-event,-period,-dso,+callindent,+flags";

	if (insns == VIEW_INSNS_DISASM)
		fields = "-event,-period,+disasm";
	else if (insns != VIEW_INSNS_NONE)
		fields = "-event,-period,+insn";
	argv_builder_add(words, "--itrace=%s", insns == VIEW_INSNS_NONE ? "crewp" : "i0nse");
	argv_builder_add(words, "-F");
	argv_builder_add(words, "hw:%s", fields);
	argv_builder_add(words, "-F");
	argv_builder_add(words, "synth:%s", fields);
}

static void add_trace(struct argv_builder *words, const struct facts *facts, enum view_insns insns)
{
	if (facts->sampled) {
		add_trace_by_kind(words, insns);
	} else if (insns == VIEW_INSNS_NONE) {
		argv_builder_add(words, "--call-ret-trace");
		/* Nearly everything is in the kernel. */
		argv_builder_add(words, "-F");
		argv_builder_add(words, "-dso");
	} else {
		argv_builder_add(words, "--insn-trace%s",
				 insns == VIEW_INSNS_DISASM ? "=disasm" : "");
	}
	if (insns == VIEW_INSNS_XED)
		argv_builder_add(words, "--xed");
}

enum perf_poke_recorder view_recorder(const char *name)
{
	const struct perf_poke_choice *row;

	for (size_t i = 1; (row = perf_poke__choice(PERF_POKE_AXIS_RECORDER, i)); i++) {
		if (!strcmp(row->name, name))
			return row->value;
	}
	return PERF_POKE_RECORDER_AUTO;
}

int view_argv(const struct facts *facts, const struct view_options *options, const char *perf,
	      const char *data, char ***argv)
{
	uint64_t window_ns = facts_is_pt(facts) ? VIEW_WINDOW_PT_NS : VIEW_WINDOW_EVENTS_NS;
	struct argv_builder words = { 0 };

	argv_builder_add(&words, "%s", perf);
	if (options->buildid_dir) {
		argv_builder_add(&words, "--buildid-dir");
		argv_builder_add(&words, "%s", options->buildid_dir);
	}
	argv_builder_add(&words, "script");
	argv_builder_add(&words, "-i");
	argv_builder_add(&words, "%s", data);
	argv_builder_add(&words, "--ns");
	if (options->cpus) {
		argv_builder_add(&words, "-C");
		argv_builder_add(&words, "%s", options->cpus);
	} else if (facts->spike.cpu >= 0 && !options->all_cpus) {
		argv_builder_add(&words, "-C");
		argv_builder_add(&words, "%d", facts->spike.cpu);
	}
	if (options->symfs) {
		argv_builder_add(&words, "--symfs");
		argv_builder_add(&words, "%s", options->symfs);
	}
	if (!options->all && !facts->no_times)
		add_window(&words, facts, options->window_ns ?: window_ns);
	if (facts_is_pt(facts))
		add_trace(&words, facts, options->insns);
	for (char **word = options->rest; word && *word; word++)
		argv_builder_add(&words, "%s", *word);
	return argv_builder_finish(&words, argv);
}
