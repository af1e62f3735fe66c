// SPDX-License-Identifier: GPL-2.0-only
#include "compare/compare.h"

#include <string.h>

#include "text.h"

/* Initial window for a timer without a known period. */
#define FIRST_NS UINT64_C(20000000)
#define MORE 4
#define PATH_SIZE 64

struct load {
	const struct analysis_hooks *hooks;
	char **why;
	const struct comparison_want *want;
	const char *data;
	struct capture_file capture;
	struct watched watched;
};

/* Only of the workload's own timers. Other functions have timers with other periods. */
static uint64_t workload_period_of(const struct capture_file *capture)
{
	static const struct {
		const char *workload, *function;
	} table[] = {
		{ "cyclic", "hrtimer_wakeup" },
		{ "timerlat", "timerlat_irq" },
		{ "user", "timerlat_irq" },
	};
	const char *workload = capture_file_text(capture, "workload.kind");
	const char *function = capture->capture->spike->function_name ?: "";

	for (size_t i = 0; i < ARRAY_SIZE(table); i++) {
		if (!strcmp(workload, table[i].workload) && !strcmp(function, table[i].function))
			return capture_file_number(capture, "workload.period_ns", 0);
	}
	return 0;
}

static const char *span_end_text(const struct capture_file *file, const char *which,
				 const char *member)
{
	char path[PATH_SIZE];

	snprintf(path, sizeof(path), "trigger.ends.%s.%s", which, member);
	return capture_file_text(file, path);
}

/* capture.json is not trusted. Missing values are empty. */
static void read_span_end(struct span_end *end, const struct capture_file *file, const char *which)
{
	char member[32];

	for (size_t i = 0; i < END_FUNCTIONS; i++) {
		char *to = end->functions[end->nr];

		snprintf(member, sizeof(member), "functions.%zu", i);
		text_copy_printable(to, sizeof(end->functions[0]),
				    span_end_text(file, which, member));
		end->nr += *to != '\0';
	}
	text_copy_printable(end->event, sizeof(end->event), span_end_text(file, which, "event"));
	end->at_return = !strcmp(span_end_text(file, which, "at"), "return");
}

static int read_span_marks(struct load *load)
{
	_cleanup_(tracepoints_freep) struct tracepoints *tracepoints = NULL;
	const struct sample_window window = { .end = load->capture.facts.spike.time_ns };
	int err = tracepoints_open(&tracepoints, load->data, &window, load->why);

	if (!err)
		err = span_marks_read(&load->watched.marks, &load->watched, tracepoints,
				      load->capture.facts.spike.cpu);
	return err ? capture_failure(load->hooks, load->want->folder, err, load->why) : 0;
}

/* Its entry and exit are functions of Intel PT's trace, or recorded events. */
static int find_watched_span(struct load *load)
{
	struct watched *watched = &load->watched;
	const struct facts *facts = &load->capture.facts;
	bool events = !facts_is_pt(facts);

	watched->span = true;
	watched->by_thread =
		!strcmp(capture_file_text(&load->capture, "trigger.ends.by"), "thread");
	read_span_end(&watched->entry, &load->capture, "entry");
	read_span_end(&watched->exit, &load->capture, "exit");
	/* Of ftrace either, depending on its tracer. */
	if (facts_is_ftrace(facts) && watched->entry.nr && watched->exit.nr)
		events = false;
	if (events ? !*watched->entry.event || !*watched->exit.event
		   : !watched->entry.nr || !watched->exit.nr)
		return failure_explain(load->why, -EXDEV,
				       "--normal: '%s' does not tell the %s with which the span "
				       "begins and ends",
				       load->want->folder, events ? "events" : "functions");
	return events ? read_span_marks(load) : 0;
}

static int find_watched_timer(struct load *load)
{
	const struct capture_file *capture = &load->capture;
	const struct perf_poke_spike *spike = capture->capture->spike;

	if (!load->data || capture->facts.no_times || !facts_have_trace(&capture->facts))
		return failure_explain(load->why, -EXDEV, "--normal: '%s' has no trace with times",
				       load->want->folder);
	if (!spike->poked && spike->kind == PERF_POKE_TRIGGER_SPAN)
		return find_watched_span(load);
	if (spike->poked ||
	    (spike->kind != PERF_POKE_TRIGGER_IRQ && spike->kind != PERF_POKE_TRIGGER_THREAD &&
	     spike->kind != PERF_POKE_TRIGGER_USER))
		return failure_explain(load->why, -EXDEV,
				       "--normal: '%s' is not of a timer or a span",
				       load->want->folder);
	load->watched.period_ns = workload_period_of(capture);
	return 0;
}

/* A window before the spike that may contain the oldest activation. */
static uint64_t first_decoded_window(const struct load *load)
{
	const struct facts *facts = &load->capture.facts;
	uint64_t period_ns = load->watched.period_ns, nr = load->want->activations + 2;

	if (!facts_is_pt(facts))
		return facts->spike.time_ns;
	if (period_ns && period_ns < facts->spike.time_ns / nr)
		return facts->spike.latency_ns + nr * period_ns;
	return facts->spike.latency_ns + FIRST_NS;
}

/* Decodes no more of the trace than the activations need, and as much as can be loaded. */
static int load_activations(struct load *load, struct comparison *comparison)
{
	/* Attempts are not shown. */
	struct analysis_hooks quiet = *load->hooks;
	const struct comparison_want *want = load->want;
	struct account_want window = { .window_ns = first_decoded_window(load),
				       .symfs = want->symfs };
	bool is_most = load->watched.period_ns;
	uint64_t spike_ns = load->capture.facts.spike.time_ns;

	quiet.message = NULL;
	quiet.progress = NULL;
	for (;;) {
		_cleanup_free_ char *hidden = NULL;
		int err = account_load(&comparison->here, &quiet, want->folder, &window, &hidden);

		if (err == -E2BIG && window.window_ns / 2 > load->capture.facts.spike.latency_ns) {
			window.window_ns /= 2;
			is_most = true;
			continue;
		}
		if (!err)
			err = comparison_make(comparison, &load->watched, want->activations);
		if (err)
			return capture_failure(load->hooks, want->folder, err, load->why);
		if (is_most || comparison->activations.nr >= want->activations ||
		    window.window_ns >= spike_ns ||
		    /* The trace begins within the window. */
		    comparison->here.spans->begin >
			    spike_ns - window.window_ns + window.window_ns / 100)
			return 0;
		comparison_release(comparison);
		window.window_ns *= MORE;
	}
}

static int compare_with_normal(struct load *load, struct comparison *comparison)
{
	int err = load_activations(load, comparison);

	/* The workload armed other timers with the same function, or somebody else did. */
	if (!err && !comparison_is_enough(comparison) && load->watched.period_ns) {
		comparison_release(comparison);
		load->watched.period_ns = 0;
		err = load_activations(load, comparison);
	}
	return err;
}

static int compare_with_other(struct comparison *comparison, const struct analysis_hooks *hooks,
			      const struct comparison_want *want, char **why)
{
	const struct account_want both = { .symfs = want->symfs };
	const struct facts *here = &comparison->here.facts, *there = &comparison->there.facts;
	int err = account_load(&comparison->here, hooks, want->folder, &both, why);

	if (!err)
		err = account_load(&comparison->there, hooks, want->against, &both, why);
	if (err)
		return err;
	for (int i = 0; i < 2; i++) {
		const struct facts *facts = i ? there : here;

		if (facts_have_times(facts) && !facts->spike.poked)
			continue;
		return failure_explain(why, -EXDEV, "--against '%s': '%s' %s", want->against,
				       i ? want->against : want->folder,
				       facts->spike.poked ? "is of a request: nothing was late"
							  : "has no trace with times");
	}
	if (here->recorder != there->recorder)
		return failure_explain(why, -EXDEV, "--against '%s': not the same recorder as '%s'",
				       want->against, want->folder);
	err = comparison_make(comparison, NULL, 0);
	return err ? capture_failure(hooks, want->folder, err, why) : 0;
}

int comparison_load(struct comparison *comparison, const struct analysis_hooks *hooks,
		    const struct comparison_want *want, char **why)
{
	struct load load = { .hooks = hooks, .why = why, .want = want };
	_cleanup_free_ char *data = NULL;
	struct unchanged unchanged;
	int err;

	*comparison = (struct comparison){ 0 };
	if (want->against)
		return compare_with_other(comparison, hooks, want, why);
	unchanged_begin_check(&unchanged, hooks, want->folder);
	err = capture_trace_find(hooks, want->folder, &load.capture, &data, why);
	load.data = data;
	if (!err)
		err = find_watched_timer(&load);
	if (!err)
		err = compare_with_normal(&load, comparison);
	free(load.watched.marks.array);
	capture_file_close(&load.capture);
	return unchanged_end_check(&unchanged, err, why);
}
