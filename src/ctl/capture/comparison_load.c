// SPDX-License-Identifier: GPL-2.0-only
#include "capture/captures.h"

#include <string.h>

#include "text.h"

/* Initial window for a timer without a known period. */
#define FIRST_NS UINT64_C(20000000)
#define MORE 4
#define PATH_SIZE 64

struct load {
	struct console *con;
	const struct comparison_want *want;
	const char *data;
	struct capture_file capture;
	struct watched watched;
};

/* Only of the workload's own timers. Other functions have timers with other periods. */
static uint64_t period_of(const struct capture_file *capture)
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

static const char *end_text(const struct capture_file *file, const char *which, const char *member)
{
	char path[PATH_SIZE];

	snprintf(path, sizeof(path), "trigger.ends.%s.%s", which, member);
	return capture_file_text(file, path);
}

/* capture.json is not trusted. Missing values are empty. */
static void read_end(struct span_end *end, const struct capture_file *file, const char *which)
{
	char member[32];

	for (size_t i = 0; i < END_FUNCTIONS; i++) {
		char *to = end->functions[end->nr];

		snprintf(member, sizeof(member), "functions.%zu", i);
		printable_copy(to, sizeof(end->functions[0]), end_text(file, which, member));
		end->nr += *to != '\0';
	}
	printable_copy(end->event, sizeof(end->event), end_text(file, which, "event"));
	end->at_return = !strcmp(end_text(file, which, "at"), "return");
}

static int read_marks(struct load *load)
{
	_cleanup_(tracepoints_freep) struct tracepoints *tracepoints = NULL;
	const struct sample_window window = { .end = load->capture.facts.spike.time_ns };
	_cleanup_free_ char *why = NULL;
	int r = tracepoints_open(&tracepoints, load->data, &window, &why);

	if (!r)
		r = marks_read(&load->watched.marks, &load->watched, tracepoints,
			       load->capture.facts.spike.cpu);
	return r ? capture_trace_error(load->con, load->want->folder, r, why) : 0;
}

/* Its entry and exit are functions of Intel PT's trace, or recorded events. */
static int find_span(struct load *load)
{
	struct watched *watched = &load->watched;
	bool events = load->capture.facts.recorder == PERF_POKE_RECORDER_EVENTS;

	watched->span = true;
	watched->by_thread =
		!strcmp(capture_file_text(&load->capture, "trigger.ends.by"), "thread");
	read_end(&watched->entry, &load->capture, "entry");
	read_end(&watched->exit, &load->capture, "exit");
	if (events ? !*watched->entry.event || !*watched->exit.event
		   : !watched->entry.nr || !watched->exit.nr) {
		console_error(load->con,
			      "--normal: '%s' does not tell the %s with which the span begins and "
			      "ends",
			      load->want->folder, events ? "events" : "functions");
		return -EXDEV;
	}
	return events ? read_marks(load) : 0;
}

static int find_watched(struct load *load)
{
	const struct capture_file *capture = &load->capture;
	const struct perf_poke_spike *spike = capture->capture->spike;

	if (!load->data || capture->facts.no_times || !facts_have_trace(&capture->facts)) {
		console_error(load->con, "--normal: '%s' has no trace with times",
			      load->want->folder);
		return -EXDEV;
	}
	if (!spike->poked && spike->kind == PERF_POKE_TRIGGER_SPAN)
		return find_span(load);
	if (spike->poked ||
	    (spike->kind != PERF_POKE_TRIGGER_IRQ && spike->kind != PERF_POKE_TRIGGER_THREAD &&
	     spike->kind != PERF_POKE_TRIGGER_USER)) {
		console_error(load->con, "--normal: '%s' is not of a timer or a span",
			      load->want->folder);
		return -EXDEV;
	}
	load->watched.period_ns = period_of(capture);
	return 0;
}

/* A window before the spike that may contain the oldest activation. */
static uint64_t first_window(const struct load *load)
{
	const struct facts *facts = &load->capture.facts;
	uint64_t period_ns = load->watched.period_ns, nr = load->want->activations + 2;

	if (facts->recorder == PERF_POKE_RECORDER_EVENTS)
		return facts->spike.time_ns;
	if (period_ns && period_ns < facts->spike.time_ns / nr)
		return facts->spike.latency_ns + nr * period_ns;
	return facts->spike.latency_ns + FIRST_NS;
}

/* Decodes no more of the trace than the activations need, and as much as can be loaded. */
static int load_normal(struct load *load, struct comparison *comparison)
{
	_cleanup_fclose_ FILE *nowhere = fopen("/dev/null", "we");
	/* Hides the messages of attempts. */
	struct console quiet = { .out = nowhere, .err = nowhere };
	const struct comparison_want *want = load->want;
	struct account_want window = { .window_ns = first_window(load), .symfs = want->symfs };
	bool is_most = load->watched.period_ns;
	uint64_t spike_ns = load->capture.facts.spike.time_ns;

	for (;;) {
		int r = nowhere ? account_load(&comparison->here, &quiet, want->folder, &window)
				: -errno;

		if (r == -E2BIG && window.window_ns / 2 > load->capture.facts.spike.latency_ns) {
			window.window_ns /= 2;
			is_most = true;
			continue;
		}
		if (!r)
			r = comparison_make(comparison, &load->watched, want->activations);
		if (r)
			return capture_trace_error(load->con, want->folder, r, NULL);
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

static int compare_normal(struct load *load, struct comparison *comparison)
{
	int r = load_normal(load, comparison);

	/* The workload armed other timers with the same function, or somebody else did. */
	if (!r && !comparison_is_enough(comparison) && load->watched.period_ns) {
		comparison_release(comparison);
		load->watched.period_ns = 0;
		r = load_normal(load, comparison);
	}
	return r;
}

static int compare_against(struct console *con, struct comparison *comparison,
			   const struct comparison_want *want)
{
	const struct account_want both = { .symfs = want->symfs };
	const struct facts *here = &comparison->here.facts, *there = &comparison->there.facts;
	int r = account_load(&comparison->here, con, want->folder, &both);

	if (!r)
		r = account_load(&comparison->there, con, want->against, &both);
	if (r)
		return r;
	for (int i = 0; i < 2; i++) {
		const struct facts *facts = i ? there : here;

		if (facts_have_times(facts) && !facts->spike.poked)
			continue;
		console_error(con, "--against '%s': '%s' %s", want->against,
			      i ? want->against : want->folder,
			      facts->spike.poked ? "is of a request: nothing was late"
						 : "has no trace with times");
		return -EXDEV;
	}
	if (here->recorder != there->recorder) {
		console_error(con, "--against '%s': not the same recorder as '%s'", want->against,
			      want->folder);
		return -EXDEV;
	}
	r = comparison_make(comparison, NULL, 0);
	return r ? capture_trace_error(con, want->folder, r, NULL) : 0;
}

int comparison_load(struct comparison *comparison, struct console *con,
		    const struct comparison_want *want)
{
	struct load load = { .con = con, .want = want };
	_cleanup_free_ char *data = NULL;
	struct unchanged unchanged;
	int r;

	*comparison = (struct comparison){ 0 };
	if (want->against)
		return compare_against(con, comparison, want);
	unchanged_begin(&unchanged, want->folder);
	r = capture_trace_find(con, want->folder, &load.capture, &data);
	load.data = data;
	if (!r)
		r = find_watched(&load);
	if (!r)
		r = compare_normal(&load, comparison);
	free(load.watched.marks.array);
	capture_file_close(&load.capture);
	return unchanged_end(&unchanged, con, r);
}
