// SPDX-License-Identifier: GPL-2.0-only
#include "capture/normal_load.h"

#include <string.h>

#include "capture/account_load.h"
#include "capture/capture_trace.h"
#include "capture/span_ends.h"
#include "normal/expiries.h"

/* Initial window for a timer without a known period. */
#define FIRST_NS UINT64_C(20000000)
#define MORE 4

struct load {
	struct console *con;
	const char *folder, *data;
	char *found; /* `data` */
	const struct normal_want *want;
	struct capture_file capture;
	const char *function; /* of the timer; "": unknown */
	struct timer timer;
	struct ends ends; /* of a span */
	struct marks marks;
};

/* Other functions have timers with other periods. */
static uint64_t period_of(const struct load *load)
{
	static const struct {
		const char *workload, *function;
	} table[] = {
		{ "cyclic", "hrtimer_wakeup" },
		{ "timerlat", "timerlat_irq" },
		{ "user", "timerlat_irq" },
	};
	const char *workload = capture_file_text(&load->capture, "workload.kind");

	for (size_t i = 0; i < ARRAY_SIZE(table); i++) {
		if (!strcmp(workload, table[i].workload) &&
		    !strcmp(load->function, table[i].function))
			return capture_file_number(&load->capture, "workload.period_ns", 0);
	}
	return 0;
}

/* Identifies the timer by events, if recorded. */
static int find_timer(struct load *load, bool any)
{
	_cleanup_(tracepoints_freep) struct tracepoints *tracepoints = NULL;
	const struct sample_window window = { .end = load->capture.view.spike_ns };
	const struct expiries_of of = {
		.cpu = load->capture.view.cpu,
		.address = load->capture.capture->spike->timer,
		.sleeps = !strcmp(load->function, "hrtimer_wakeup"),
		.any = any,
	};
	_cleanup_free_ char *why = NULL;
	int r;

	if (load->timer.ends)
		return 0;
	free(load->timer.expiries);
	load->timer = (struct timer){ .period_ns = period_of(load), .any = any };
	if (load->capture.view.recorder != PERF_POKE_RECORDER_EVENTS || !of.address)
		return 0;
	r = tracepoints_open(&tracepoints, load->data, &window, &why);
	if (!r)
		r = expiries_read(tracepoints, &of, &load->timer);
	return r ? capture_trace_error(load->con, load->folder, r, why) : 0;
}

static int read_marks(struct load *load)
{
	_cleanup_(tracepoints_freep) struct tracepoints *tracepoints = NULL;
	const struct sample_window window = { .end = load->capture.view.spike_ns };
	_cleanup_free_ char *why = NULL;
	int r = tracepoints_open(&tracepoints, load->data, &window, &why);

	if (!r)
		r = marks_read(&load->marks, tracepoints, &load->ends, load->capture.view.cpu);
	return r ? capture_trace_error(load->con, load->folder, r, why) : 0;
}

/* Its entry and exit are functions of Intel PT's trace, or recorded events. */
static int find_span(struct load *load)
{
	const struct ends *ends = &load->ends;
	bool events = load->capture.view.recorder == PERF_POKE_RECORDER_EVENTS;

	if (strcmp(capture_file_text(&load->capture, "spike.trigger"), "span"))
		return 0;
	span_ends_read(&load->ends, &load->capture);
	if (events ? !*ends->entry.event || !*ends->exit.event
		   : !ends->entry.nr || !ends->exit.nr) {
		console_error(load->con,
			      "--normal: '%s' does not tell the %s with which the span begins and "
			      "ends",
			      load->folder, events ? "events" : "functions");
		return -EXDEV;
	}
	load->timer.ends = ends;
	if (!events)
		return 0;
	load->timer.marks = &load->marks;
	return read_marks(load);
}

/* Time before the spike that may contain the oldest activation. */
static uint64_t first_window(const struct load *load)
{
	const struct timer *timer = &load->timer;
	const struct view_capture *view = &load->capture.view;
	uint64_t nr = load->want->activations + 2;

	if (timer->nr > nr && timer->expiries[timer->nr - nr].at < view->spike_ns)
		return view->spike_ns - timer->expiries[timer->nr - nr].at;
	if (timer->nr || view->recorder == PERF_POKE_RECORDER_EVENTS)
		return view->spike_ns;
	if (timer->period_ns && timer->period_ns < view->spike_ns / nr)
		return view->latency_ns + nr * timer->period_ns;
	return view->latency_ns + FIRST_NS;
}

/* Whether a longer window would have no more. */
static bool is_all(const struct load *load, const struct account *account)
{
	uint64_t begin = account->spans->begin, end = account->spans->end;

	return load->timer.nr || load->timer.period_ns || account->window_ns >= end ||
	       begin > end - account->window_ns + account->window_ns / 100;
}

/* Hides the messages of attempts. */
static int load_window(struct load *load, struct account *account, uint64_t *window_ns)
{
	_cleanup_fclose_ FILE *nowhere = fopen("/dev/null", "we");
	struct console quiet = { .out = nowhere, .err = nowhere };
	struct account_want want = { .symfs = load->want->symfs };
	int r;

	if (!nowhere)
		return -errno;
	do {
		want.window_ns = *window_ns;
		r = account_load(account, &quiet, load->folder, &want);
		*window_ns /= 2;
	} while (r == -E2BIG && *window_ns > load->capture.view.latency_ns);
	*window_ns = want.window_ns;
	return r;
}

static int load_activations(struct load *load, struct normal *normal, struct account *account)
{
	uint64_t window_ns = first_window(load), wanted_ns;
	int r;

	for (;;) {
		wanted_ns = window_ns;
		r = load_window(load, account, &window_ns);
		if (r)
			return capture_trace_error(load->con, load->folder, r, NULL);
		r = normal_make(normal, account, &load->timer, load->want->activations);
		if (r) {
			account_release(account);
			return capture_trace_error(load->con, load->folder, r, NULL);
		}
		if (normal->activations.nr >= load->want->activations || window_ns < wanted_ns ||
		    is_all(load, account))
			return 0;
		normal_release(normal);
		account_release(account);
		window_ns *= MORE;
	}
}

static int check_capture(const struct load *load)
{
	static const char *const triggers[] = { "irq", "thread", "user", "span" };
	const struct capture_file *capture = &load->capture;
	const char *trigger = capture_file_text(capture, "spike.trigger");

	if (capture->view.no_times || !load->data || !view_has_trace(capture->view.recorder)) {
		console_error(load->con, "--normal: '%s' has no trace with times", load->folder);
		return -EXDEV;
	}
	for (size_t i = 0; i < ARRAY_SIZE(triggers); i++) {
		if (!strcmp(trigger, triggers[i]) && !capture->capture->spike->poked)
			return 0;
	}
	console_error(load->con, "--normal: '%s' is not of a timer or a span", load->folder);
	return -EXDEV;
}

/* Call end_load() even on failure. */
static int begin_load(struct load *load)
{
	int r = capture_trace_find(load->con, load->folder, &load->capture, &load->found);

	load->data = load->found;
	load->function = r ? "" : load->capture.capture->spike->function_name ?: "";
	if (!r)
		r = check_capture(load);
	if (!r)
		r = find_span(load);
	return r ?: find_timer(load, false);
}

static void end_load(struct load *load)
{
	free(load->timer.expiries);
	free(load->marks.array);
	free(load->found);
	capture_file_close(&load->capture);
}

int normal_load(struct normal *normal, struct account *account, struct console *con,
		const char *folder, const struct normal_want *want)
{
	struct load load = { .con = con, .folder = folder, .want = want };
	int r = begin_load(&load);

	if (!r)
		r = load_activations(&load, normal, account);
	/* Whatever makes one timer late makes others late, too. A thread has only one. */
	if (!r && load.timer.expiries && !normal_is_enough(normal) && !account->facts.thread) {
		normal_release(normal);
		account_release(account);
		r = find_timer(&load, true);
		if (!r)
			r = load_activations(&load, normal, account);
	}
	end_load(&load);
	return r;
}

/* Only equal ones are comparable. */
static int check_other(const struct load *load, const struct facts *here, const struct facts *there,
		       const char *other)
{
	const char *what = here->pt != there->pt	   ? "recorder"
			   : here->thread != there->thread ? "trigger"
			   : load->timer.ends ? (strcmp(here->label, there->label) ? "span" : NULL)
			   : strcmp(here->function, there->function) ? "timer"
								     : NULL;

	if (!what)
		return 0;
	console_error(load->con, "--against '%s': not the same %s as '%s'", other, what,
		      load->folder);
	return -EXDEV;
}

static int compare_with(struct load *load, struct normal *normal, struct account *account,
			struct normal *theirs)
{
	/* The window of a report has the whole late activation. */
	uint64_t window_ns = 0;
	int r = load_window(load, account, &window_ns);

	if (r)
		return capture_trace_error(load->con, load->folder, r, NULL);
	r = check_other(load, &account->facts, &theirs->account->facts, theirs->account->capture);
	if (r)
		return r;
	r = normal_make_against(normal, account, &load->timer, theirs);
	return r ? capture_trace_error(load->con, load->folder, r, NULL) : 0;
}

int normal_load_against(struct normal *normal, struct account *account, struct account *there,
			struct console *con, const struct normal_folders *folders,
			const struct normal_want *want)
{
	struct load load = { .con = con, .folder = folders->here, .want = want };
	struct normal theirs;
	int r = normal_load(&theirs, there, con, folders->there, want);

	if (r)
		return r;
	r = begin_load(&load);
	if (!r)
		r = compare_with(&load, normal, account, &theirs);
	end_load(&load);
	normal_release(&theirs);
	return r;
}
