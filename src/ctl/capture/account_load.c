// SPDX-License-Identifier: GPL-2.0-only
#include "capture/captures.h"

#include "cli/cli.h"
#include "facts/spans.h"
#include "facts/user_code.h"

/* With the mappings of `user` open, which names the functions of programs. */
static int follow_thread(struct account *account, struct schedule *schedule,
			 struct tracepoints *tracepoints, struct user_code *user)
{
	const struct thread_namer namer = {
		.names = account->spans->names,
		.tracepoints = tracepoints,
		.user = user_code_name,
		.context = user,
	};
	int r = schedule_add_comms(schedule, account->spans->names, tracepoints_file(tracepoints));

	if (!r)
		r = late_thread_new(&account->thread, schedule, &account->facts, &namer);
	account->facts.thread = account->thread;
	return r;
}

static int load_events(struct account *account, struct console *con, const char *data,
		       uint64_t begin, const char *symfs)
{
	const struct facts *facts = &account->facts;
	_cleanup_(tracepoints_freep) struct tracepoints *tracepoints = NULL;
	_cleanup_(user_code_release) struct user_code user = {};
	_cleanup_(schedule_release) struct schedule schedule = { 0 };
	/* Of all CPUs, because others may have sent requests. */
	const struct sample_window window = { .end = facts->spike.time_ns };
	struct samples *samples = &account->spans->samples;
	_cleanup_free_ char *why = NULL;
	int r = capture_trace_events(&tracepoints, &user, account->capture, data, symfs, &window,
				     &why);

	samples->namer = user_code_name;
	samples->context = &user;
	account->spans->arming = (struct arming){
		.timer = facts->spike.timer,
		.until = facts_is_thread(facts) ? facts->spike.expected_ns + facts->spike.irq_ns
						: facts->spike.actual_ns,
		.tid = facts->spike.late_tid,
	};
	if (!r && !(account->senders = calloc(1, sizeof(*account->senders))))
		r = -ENOMEM;
	if (!r)
		r = events_spans_read(tracepoints, facts->spike.cpu, begin, facts->spike.time_ns,
				      account->spans, account->senders, &schedule);
	facts_end_mark(&account->facts, account->spans->arming.due);
	if (!r)
		r = follow_thread(account, &schedule, tracepoints, &user);
	if (!r)
		r = events_spans_name(account->spans, &schedule, &facts->spike);
	samples->namer = NULL;
	samples->context = NULL;
	account->facts.senders = account->senders;
	return r ? capture_trace_error(con, account->capture, r, why) : 0;
}

/* Beside Intel PT, which shows neither other CPUs nor wakeups. */
static int load_senders(struct account *account, const char *data, const char *symfs)
{
	const struct facts *facts = &account->facts;
	_cleanup_(tracepoints_freep) struct tracepoints *tracepoints = NULL;
	_cleanup_(user_code_release) struct user_code user = {};
	_cleanup_(schedule_release) struct schedule schedule = { 0 };
	/* Work queued before the window may run in it. */
	const struct sample_window window = { .end = facts->spike.time_ns };
	_cleanup_free_ char *why = NULL;
	struct tracepoint_event event;
	int r = capture_trace_events(&tracepoints, &user, account->capture, data, symfs, &window,
				     &why);

	if (r)
		return r == -ENOMEM ? r : 0;
	account->facts.senders = account->senders = calloc(1, sizeof(*account->senders));
	if (!account->senders)
		return -ENOMEM;
	while (!r && tracepoints_next(tracepoints, &event)) {
		senders_take(account->senders, tracepoints, &event, facts->spike.cpu);
		r = schedule_add(&schedule, account->spans->names, &event);
	}
	senders_name(account->senders, tracepoints_file(tracepoints));
	return r ?: follow_thread(account, &schedule, tracepoints, &user);
}

static int load_trace(struct account *account, struct console *con, const char *data,
		      uint64_t begin, const struct account_want *want)
{
	const struct facts *facts = &account->facts;
	_cleanup_(track_spans_freep) struct track_spans *sink = NULL;
	struct decoding decoding = {
		.folder = account->capture,
		.data = data,
		.symfs = want->symfs,
		.facts = facts,
		.doing = "decoding",
		.cpu = facts->spike.cpu,
		.threads = decoding_threads(),
		.begin = begin,
		.end = facts->spike.time_ns + want->after_ns,
	};
	struct decoding_result result;
	int r = track_spans_new(&sink, account->spans, facts->spike.cpu);

	if (!r && !facts->no_times)
		r = load_senders(account, data, want->symfs);
	if (r)
		return capture_trace_error(con, account->capture, r, NULL);
	if (facts->no_times) {
		decoding.axis = CALLS_INSNS;
		decoding.tail = DECODING_TAIL;
		decoding.begin = 0;
		decoding.end = UINT64_MAX;
	}
	r = decoding_run(con, &decoding, &track_spans_ops, sink, account->spans->names, &result);
	account->errors = result.errors;
	snprintf(account->first_error, sizeof(account->first_error), "%s", result.first_error);
	account->error_help = result.error_help;
	account->spans->step_ns = result.stats.step_ns;
	account->after_insns = result.after_insns;
	account->after_ns = result.after_ns;
	return r;
}

static int load_spans(struct account *account, struct console *con, const char *data,
		      const struct account_want *want)
{
	const struct facts *facts = &account->facts;
	uint64_t spike = facts->spike.time_ns, window_ns = account->window_ns;
	uint64_t begin = spike > window_ns ? spike - window_ns : 0;
	int r = spans_new(&account->spans);

	if (r)
		return capture_trace_error(con, account->capture, r, NULL);
	if (!facts_have_trace(facts))
		return 0;
	if (facts_is_pt(facts))
		return load_trace(account, con, data, begin, want);
	return load_events(account, con, data, begin, want->symfs);
}

static int name_user_frames(struct facts *facts, const struct capture_file *capture,
			    const char *folder, const char *symfs)
{
	_cleanup_free_ char *buildid_dir = NULL;
	int r = capture_trace_buildid_dir(folder, &buildid_dir);
	const struct files_places places = { .buildid_dir = buildid_dir, .symfs = symfs };

	if (!r)
		user_frames_name(facts, capture->capture->spike, &places);
	return r;
}

static int keep_verdict(const struct account *account)
{
	_cleanup_(verdict_release) struct verdict verdict = { 0 };
	int r = verdict_of_account(&verdict, account);

	if (!r)
		verdict_keep(&verdict, account);
	return r;
}

static int load_account(struct account *account, struct console *con,
			const struct account_want *want)
{
	_cleanup_(capture_file_close) struct capture_file capture = { 0 };
	const char *folder = account->capture;
	_cleanup_free_ char *data = NULL;
	int r = capture_trace_find(con, folder, &capture, &data);

	if (r)
		return r;
	account->facts = capture.facts;
	r = name_user_frames(&account->facts, &capture, folder, want->symfs);
	if (r)
		return capture_trace_error(con, folder, r, NULL);
	capture_statistics(&account->statistics, &capture);
	account->window_ns = want->window_ns ?: findings_window(&account->facts);
	r = load_spans(account, con, data, want);
	if (!r && account_finish(account))
		r = capture_trace_error(con, folder, -ENOMEM, NULL);
	return r;
}

int account_load(struct account *account, struct console *con, const char *folder,
		 const struct account_want *want)
{
	struct unchanged unchanged;
	int r;

	*account = (struct account){ .capture = folder };
	unchanged_begin(&unchanged, folder);
	r = load_account(account, con, want);
	r = unchanged_end(&unchanged, con, r);
	if (!r && !want->window_ns && !want->after_ns && !want->symfs)
		r = keep_verdict(account);
	if (r)
		account_release(account);
	return r;
}

int verdict_load(struct verdict *verdict, struct console *con, const char *folder)
{
	_cleanup_(account_release) struct account account = { 0 };
	int r = verdict_kept(verdict, folder);

	if (r != -ENOENT)
		return r;
	r = account_load(&account, con, folder, &(struct account_want){ 0 });
	return r ?: verdict_of_account(verdict, &account);
}
