// SPDX-License-Identifier: GPL-2.0-only
#include "cause/account.h"

#include "calls/timeline.h"
#include "code/symbolizer.h"
#include "facts/ring_calls.h"
#include "facts/spans.h"
#include "facts/user_code.h"
#include "pt/decode.h"
#include "text.h"

/* With the mappings of `user` open, which names the functions of programs. */
static int account_follow_thread(struct account *account, struct schedule *schedule,
				 struct tracepoints *tracepoints, struct user_code *user)
{
	const struct thread_namer namer = {
		.names = account->spans->names,
		.tracepoints = tracepoints,
		.user = user_code_name,
		.context = user,
	};
	int err = schedule_add_comms(schedule, account->spans->names, tracepoints);

	if (!err)
		err = late_thread_new(&account->thread, schedule, &account->facts, &namer);
	account->facts.thread = account->thread;
	return err;
}

/* The functions of ftrace, with all that its events tell of other CPUs. */
static int account_read_calls(struct account *account, struct tracepoints *tracepoints,
			      uint64_t begin, struct schedule *schedule)
{
	const struct facts *facts = &account->facts;
	_cleanup_(track_spans_freep) struct track_spans *sink = NULL;
	struct ring_calls_opts opts = { tracepoints, facts, NULL, account->spans->names };
	_cleanup_(ring_calls_freep) struct ring_calls *calls = NULL;
	struct tracepoint_event event;
	uint64_t at = 0, gaps;
	int err = track_spans_new(&sink, account->spans, facts->spike.cpu);
	const struct timeline_opts window = {
		.begin = begin, .end = facts->spike.time_ns, .ops = &track_spans_ops, .sink = sink
	};

	err = err ?: timeline_new(&opts.timeline, &window, opts.names);
	if (err)
		return err;
	err = ring_calls_new(&calls, &opts);
	while (!err && tracepoints_next(tracepoints, &event)) {
		/* Functions tell nothing more; during a switch they are of the task before. */
		if (!has_prefix(event.kind->name, "ftrace:")) {
			senders_add_event(account->senders, tracepoints, &event, facts->spike.cpu);
			err = schedule_add_event(schedule, opts.names, &event);
		}
		if (err || event.cpu != facts->spike.cpu)
			continue;
		events_spans_note(account->spans, tracepoints, &event);
		err = ring_calls_add(calls, &event);
	}
	err = err ?: ring_calls_finish(calls, &at, &gaps);
	err = err ?: timeline_finish(opts.timeline, at);
	timeline_free(opts.timeline);
	senders_add_names(account->senders, tracepoints);
	/* Nothing shows what a function without calls does with interrupts. */
	account->spans->has_irqs_off = false;
	account->spans->functions = tracepoints_functions(tracepoints);
	return err;
}

static int account_load_events(struct account *account, const struct analysis_hooks *hooks,
			       const char *data, uint64_t begin, const char *symfs, char **why)
{
	const struct facts *facts = &account->facts;
	_cleanup_(tracepoints_freep) struct tracepoints *tracepoints = NULL;
	_cleanup_(user_code_release) struct user_code user = { .symbolizer = account->symbolizer };
	_cleanup_(schedule_release) struct schedule schedule = { 0 };
	/* Of all CPUs, because others may have sent requests. */
	const struct sample_window window = { .end = facts->spike.time_ns };
	struct samples *samples = &account->spans->samples;
	int err = capture_trace_events(&tracepoints, &user, account->capture, data, symfs, &window,
				       why);

	samples->namer = user_code_name;
	samples->context = &user;
	account->spans->arming = (struct arming){
		.timer = facts->spike.timer,
		.until = facts_is_thread(facts) ? facts->spike.expected_ns + facts->spike.irq_ns
						: facts->spike.actual_ns,
		.tid = facts->spike.late_tid,
	};
	if (!err && !(account->senders = calloc(1, sizeof(*account->senders))))
		err = -ENOMEM;
	if (!err && tracepoints_functions(tracepoints))
		err = account_read_calls(account, tracepoints, begin, &schedule);
	else if (!err)
		err = events_spans_read(tracepoints, facts->spike.cpu, begin, facts->spike.time_ns,
					account->spans, account->senders, &schedule);
	facts_end_mark(&account->facts, account->spans->arming.due);
	if (!err)
		err = account_follow_thread(account, &schedule, tracepoints, &user);
	if (!err)
		err = events_spans_name_tasks(account->spans, &schedule, &facts->spike);
	samples->namer = NULL;
	samples->context = NULL;
	account->facts.senders = account->senders;
	return err ? capture_failure(hooks, account->capture, err, why) : 0;
}

/* Beside Intel PT, which shows neither other CPUs nor wakeups. */
static int account_load_senders(struct account *account, const char *data, const char *symfs)
{
	const struct facts *facts = &account->facts;
	_cleanup_(tracepoints_freep) struct tracepoints *tracepoints = NULL;
	_cleanup_(user_code_release) struct user_code user = { .symbolizer = account->symbolizer };
	_cleanup_(schedule_release) struct schedule schedule = { 0 };
	/* Work queued before the window may run in it. */
	const struct sample_window window = { .end = facts->spike.time_ns };
	_cleanup_free_ char *why = NULL;
	struct tracepoint_event event;
	int err = capture_trace_events(&tracepoints, &user, account->capture, data, symfs, &window,
				       &why);

	if (err)
		return err == -ENOMEM ? err : 0;
	account->facts.senders = account->senders = calloc(1, sizeof(*account->senders));
	if (!account->senders)
		return -ENOMEM;
	err = schedule_add_gaps(&schedule, tracepoints);
	while (!err && tracepoints_next(tracepoints, &event)) {
		senders_add_event(account->senders, tracepoints, &event, facts->spike.cpu);
		err = schedule_add_event(&schedule, account->spans->names, &event);
	}
	senders_add_names(account->senders, tracepoints);
	return err ?: account_follow_thread(account, &schedule, tracepoints, &user);
}

static int account_load_trace(struct account *account, const struct analysis_hooks *hooks,
			      const char *data, uint64_t begin, const struct account_want *want,
			      char **why)
{
	const struct facts *facts = &account->facts;
	_cleanup_(track_spans_freep) struct track_spans *sink = NULL;
	struct decoding decoding = {
		.hooks = hooks,
		.folder = account->capture,
		.data = data,
		.symfs = want->symfs,
		.symbolizer = account->symbolizer,
		.facts = facts,
		.doing = "decoding",
		.cpu = facts->spike.cpu,
		.threads = decoding_threads(),
		.begin = begin,
		.end = facts->spike.time_ns + want->after_ns,
	};
	struct decoding_result result;
	int err = track_spans_new(&sink, account->spans, facts->spike.cpu);

	if (!err && !facts->no_times)
		err = account_load_senders(account, data, want->symfs);
	if (err)
		return capture_failure(hooks, account->capture, err, why);
	if (facts->no_times) {
		decoding.axis = CALLS_INSNS;
		decoding.tail = DECODING_TAIL;
		decoding.begin = 0;
		decoding.end = UINT64_MAX;
	}
	err = decoding_run_calls(&decoding, &track_spans_ops, sink, account->spans->names, &result,
				 why);
	account->errors = result.errors;
	snprintf(account->first_error, sizeof(account->first_error), "%s", result.first_error);
	account->error_help = result.error_help;
	account->spans->step_ns = result.stats.step_ns;
	account->after_insns = result.after_insns;
	account->after_ns = result.after_ns;
	return err;
}

static int account_load_spans(struct account *account, const struct analysis_hooks *hooks,
			      const char *data, const struct account_want *want, char **why)
{
	const struct facts *facts = &account->facts;
	uint64_t spike = facts->spike.time_ns, window_ns = account->window_ns;
	uint64_t begin = spike > window_ns ? spike - window_ns : 0;
	int err = spans_new(&account->spans);

	if (err)
		return capture_failure(hooks, account->capture, err, why);
	names_set_lines(account->spans->names, symbolizer_find_line, account->symbolizer);
	if (!facts_have_trace(facts))
		return 0;
	if (facts_is_pt(facts))
		return account_load_trace(account, hooks, data, begin, want, why);
	return account_load_events(account, hooks, data, begin, want->symfs, why);
}

/* No ring holds 256 times as many calls as a report. */
#define WINDOW_HALVINGS 8

/* Unless a window is asked for, half of it or less has to do if there are too many calls in it. */
static int account_load_window(struct account *account, const struct analysis_hooks *hooks,
			       const char *data, const struct account_want *want, char **why)
{
	bool fixed = want->window_ns || account->facts.no_times;

	account->window_ns = want->window_ns ?: findings_window(&account->facts);
	for (int i = 0;; i++) {
		int err = account_load_spans(account, hooks, data, want, why);

		if (err != -E2BIG || fixed || i == WINDOW_HALVINGS)
			return err;
		account_release_spans(account);
		account->window_ns /= 2;
		free(*why);
		*why = NULL;
	}
}

static int name_user_frames(struct account *account, const struct capture_file *capture,
			    const struct account_want *want)
{
	_cleanup_(unwound_release) struct unwound_stack unwound = {};
	_cleanup_free_ char *buildid_dir = NULL;
	int err = capture_trace_buildid_dir(account->capture, &buildid_dir);
	const struct files_places places = { .buildid_dir = buildid_dir, .symfs = want->symfs };

	err = err ?: symbolizer_new(&account->symbolizer, &places);
	err = err ?: capture_unwind(&unwound, capture->capture, &places, account->symbolizer);
	if (!err)
		capture_name_frames(&account->facts, capture->capture->spike, &unwound, &places,
				    account->symbolizer, want->lines);
	return err;
}

int account_load(struct account *account, const struct analysis_hooks *hooks, const char *folder,
		 const struct account_want *want, char **why)
{
	_cleanup_(capture_file_close) struct capture_file capture = { 0 };
	_cleanup_free_ char *data = NULL;
	struct unchanged unchanged;
	int err;

	*account = (struct account){ .capture = folder };
	unchanged_begin_check(&unchanged, hooks, folder);
	err = capture_trace_find(hooks, folder, &capture, &data, why);
	if (!err) {
		account->facts = capture.facts;
		/* What the trigger and the stacks tell needs no trace. */
		account->facts.unread = facts_is_pt(&account->facts) && !decode_is_built();
		capture_statistics(&account->statistics, &capture);
		err = name_user_frames(account, &capture, want);
		if (err)
			err = capture_failure(hooks, folder, err, why);
	}
	if (!err)
		err = account_load_window(account, hooks, data, want, why);
	if (!err && account_finish(account))
		err = capture_failure(hooks, folder, -ENOMEM, why);
	err = unchanged_end_check(&unchanged, err, why);
	if (err)
		account_release(account);
	return err;
}
