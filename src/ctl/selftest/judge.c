// SPDX-License-Identifier: GPL-2.0-only
#include "selftest/selftest.h"

#include <inttypes.h>
#include <stdarg.h>
#include <string.h>

#include "cause/account.h"
#include "cli/cli.h"
#include "text.h"
#include "units.h"

/* Default size of an AUX sample; see perf_poke.h. */
#define SAMPLE_SIZE (UINT64_C(60) << 10)
/* Estimated size of a tracepoint record. */
#define RECORD_MAX 128
/* Tolerate one lost event in this many. */
#define LOST_MAX 20
/* Maximum of instructions after the spike if the kernel stops the trace */
#define FROZEN_MAX 50000
#define SKID_MAX_NS UINT64_C(200000000)
/* Tolerance between two clocks. */
#define CLOCK_NS 100000
/* Tolerated decoding errors: a trace that is not paused may have overflowed. */
#define ERRORS_MAX 5

static void say(struct row *row, enum row_check check, enum row_result result, const char *format,
		va_list args)
{
	struct row_verdict *verdict = &row->verdicts[check];

	if (verdict->result == RESULT_WRONG)
		return;
	verdict->result = result;
	vsnprintf(verdict->why, sizeof(verdict->why), format, args);
}

void row_wrong(struct row *row, enum row_check check, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	say(row, check, RESULT_WRONG, format, args);
	va_end(args);
}

static void _printf_(3, 4) unknown(struct row *row, enum row_check check, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	say(row, check, RESULT_UNKNOWN, format, args);
	va_end(args);
}

static void fine(struct row *row, enum row_check check)
{
	if (row->verdicts[check].result == RESULT_UNKNOWN && !*row->verdicts[check].why)
		row->verdicts[check].result = RESULT_OK;
}

static bool is_pt(const struct row *row)
{
	return row->recorder == PERF_POKE_RECORDER_PT;
}

static uint64_t errors_max(const struct row *row)
{
	return row->freeze == PERF_POKE_FREEZE_PAUSE ? 0 : ERRORS_MAX;
}

static void judge_culprit(struct row *row, const struct row_capture *capture)
{
	if (!capture->sentence)
		row_wrong(row, CHECK_CULPRIT, "report cannot read %s", capture->path);
	else if (capture->errors > errors_max(row))
		row_wrong(row, CHECK_CULPRIT, "%" PRIu64 " decoding errors", capture->errors);
	else if (capture->no_times)
		unknown(row, CHECK_CULPRIT, "TSC is not perf's clock here");
	else if (!capture->named)
		row_wrong(row, CHECK_CULPRIT, "report says: %s", capture->sentence);
	fine(row, CHECK_CULPRIT);
}

static void judge_perf(struct row *row, const struct row_capture *capture)
{
	if (*capture->perf_said)
		row_wrong(row, CHECK_PERF, "%s", capture->perf_said);
	else if (!capture->perf_ran)
		unknown(row, CHECK_PERF, "no perf");
	else if (capture->perf_errors > errors_max(row))
		row_wrong(row, CHECK_PERF, "%" PRIu64 " decoding errors", capture->perf_errors);
	else if (!capture->perf_named)
		row_wrong(row, CHECK_PERF, "perf script does not show the cause");
	fine(row, CHECK_PERF);
}

/* Bytes of the ring in the capture; 0: unknown. */
static uint64_t bytes_of(const struct row *row, const struct row_capture *capture)
{
	return is_pt(row) ? capture->told.trace_bytes : capture->told.events * RECORD_MAX;
}

/* The history fills the ring, or reaches back to the arming, except for trace before the first
 * PSB. */
static void judge_history(struct row *row, const struct row_capture *capture)
{
	const struct perf_poke_capture *told = &capture->told;
	bool sampled = row->freeze == PERF_POKE_FREEZE_SAMPLE;
	uint64_t ring = sampled && row->buffer_size > SAMPLE_SIZE ? SAMPLE_SIZE : row->buffer_size;
	uint64_t bytes = bytes_of(row, capture);
	uint64_t armed_ns = told->spike->time_ns - capture->armed_ns;
	/* Decoding starts at a PSB: of a sample, 16 KiB (perf's psb_period) may go before it. */
	bool full = bytes >= ring / 3 * 2;

	if (!is_pt(row) && told->lost > told->events / LOST_MAX)
		row_wrong(row, CHECK_HISTORY, "%" PRIu64 " events are lost", told->lost);
	else if (!bytes)
		row_wrong(row, CHECK_HISTORY, "nothing in a ring of %s can be decoded",
			  FORMAT_SIZE(ring));
	else if (told->history_ns == UINT64_MAX && !full)
		unknown(row, CHECK_HISTORY, "the trace has no times");
	else if (told->history_ns < told->spike->latency_ns)
		row_wrong(row, CHECK_HISTORY, "only %s for a latency of %s",
			  FORMAT_TIME(told->history_ns), FORMAT_TIME(told->spike->latency_ns));
	else if (!full && told->history_ns < armed_ns / 2)
		row_wrong(row, CHECK_HISTORY, "%s, %s of a ring of %s, armed for %s",
			  FORMAT_TIME(told->history_ns), FORMAT_SIZE(bytes), FORMAT_SIZE(ring),
			  FORMAT_TIME(armed_ns));
	fine(row, CHECK_HISTORY);
}

/* The spike is at the end of its latency: the trace must cover most of that. */
static void judge_end(struct row *row, const struct row_capture *capture)
{
	const struct perf_poke_capture *told = &capture->told;
	uint64_t spike_ns = told->spike->time_ns;

	if (!capture->last_ns)
		unknown(row, CHECK_END, "the trace has no times");
	else if (capture->last_ns + told->spike->latency_ns / 4 < spike_ns)
		row_wrong(row, CHECK_END, "the trace ends %s before the spike",
			  FORMAT_TIME(spike_ns - capture->last_ns));
	else if (capture->last_ns > spike_ns + told->skid_ns + CLOCK_NS)
		row_wrong(row, CHECK_END, "the trace ends %s after the spike with a skid of %s",
			  FORMAT_TIME(capture->last_ns - spike_ns), FORMAT_TIME(told->skid_ns));
	fine(row, CHECK_END);
}

static void judge_skid(struct row *row, const struct row_capture *capture)
{
	const struct perf_poke_capture *told = &capture->told;
	bool frozen =
		row->freeze == PERF_POKE_FREEZE_PAUSE || row->freeze == PERF_POKE_FREEZE_SAMPLE;

	if (!told->skid_ns || told->skid_ns > SKID_MAX_NS)
		row_wrong(row, CHECK_SKID, "the trace stopped %s after the spike",
			  FORMAT_TIME(told->skid_ns));
	else if (is_pt(row) && capture->after_insns == UINT64_MAX)
		unknown(row, CHECK_SKID, "the trace has no times");
	else if (is_pt(row) && frozen && capture->after_insns > FROZEN_MAX)
		row_wrong(row, CHECK_SKID, "%" PRIu64 " instructions after the spike",
			  capture->after_insns);
	fine(row, CHECK_SKID);
}

static void judge_rearmed(struct row *row)
{
	const struct row_capture *first = &row->captures[0], *second = &row->captures[1];

	if (row->nr < ROW_CAPTURES)
		row_wrong(row, CHECK_REARMED, "no second capture of a delayed timer; %s of others",
			  FORMAT_COUNT(row->nr_taken - row->nr, "capture", "captures"));
	else if (second->told.spike->sequence <= first->told.spike->sequence)
		row_wrong(row, CHECK_REARMED, "spike %" PRIu64 " came after spike %" PRIu64,
			  second->told.spike->sequence, first->told.spike->sequence);
	else if (second->first_ns && second->first_ns < first->told.spike->time_ns)
		row_wrong(row, CHECK_REARMED, "the second trace begins before the first spike");
	fine(row, CHECK_REARMED);
}

static void judge_signal(struct row *row)
{
	if (row->signals + row->merged != row->nr_taken)
		row_wrong(row, CHECK_SIGNAL, "%s for %s",
			  FORMAT_COUNT(row->signals, "signal", "signals"),
			  FORMAT_COUNT(row->nr_taken - row->merged, "spike", "spikes"));
	fine(row, CHECK_SIGNAL);
}

void row_judge(struct row *row)
{
	fine(row, CHECK_CLEAN);
	if (row->failure)
		row_wrong(row, CHECK_CAPTURED, "%s", row->failure);
	else if (row->nr_failed)
		row_wrong(row, CHECK_CAPTURED, "%s failed",
			  FORMAT_COUNT(row->nr_failed, "capture", "captures"));
	else if (!row->nr)
		row_wrong(row, CHECK_CAPTURED, "no capture of a delayed timer; %s of others",
			  FORMAT_COUNT(row->nr_taken, "capture", "captures"));
	fine(row, CHECK_CAPTURED);
	if (!row->nr)
		return;
	for (size_t i = 0; i < row->nr; i++) {
		judge_culprit(row, &row->captures[i]);
		judge_history(row, &row->captures[i]);
		judge_end(row, &row->captures[i]);
		judge_skid(row, &row->captures[i]);
	}
	judge_perf(row, &row->captures[0]);
	judge_rearmed(row);
	judge_signal(row);
}

bool row_is_fine(const struct row *row)
{
	for (size_t i = 0; i < CHECK_NR; i++) {
		if (row->verdicts[i].result == RESULT_WRONG)
			return false;
	}
	return true;
}

void row_release(struct row *row)
{
	for (size_t i = 0; i < row->nr; i++) {
		free(row->captures[i].path);
		free(row->captures[i].sentence);
	}
	free(row->failure);
	*row = (struct row){ 0 };
}

/* Decode the skid and this much more after the spike. */
#define AFTER_NS 1000000

/* The times of the first and the last known activity. */
static void find_times(struct row_capture *capture, const struct account *account)
{
	const struct spans *spans = account->spans;
	uint64_t first = UINT64_MAX, last = 0;

	for (size_t i = 0; i < LANE_NR; i++) {
		for (uint32_t j = 0; j < spans->lanes[i].nr; j++) {
			const struct span *span = &spans->lanes[i].spans[j];

			if (span->begin < first)
				first = span->begin;
			if (span->begin > last)
				last = span->begin;
			if (!span->cut && span->end > last)
				last = span->end;
		}
	}
	if (!last || account->facts.no_times)
		return;
	capture->first_ns = first - account->facts.to_clock_ns;
	capture->last_ns = last - account->facts.to_clock_ns;
}

void decode_by_report(struct row_capture *capture, struct console *con)
{
	_cleanup_(account_release) struct account account = { 0 };
	const struct account_want want = { .after_ns = capture->told.skid_ns + AFTER_NS };
	_cleanup_free_ char *why = NULL;
	struct analysis_hooks hooks;
	const char *name;

	capture->after_insns = UINT64_MAX;
	reader_hooks(con, &hooks);
	if (account_load(&account, &hooks, capture->path, &want, &why)) {
		console_error(con, "%s", why ?: strerror(ENOMEM));
		return;
	}
	capture->sentence = strdup(account.sentence);
	capture->errors = account.errors;
	capture->no_times = account.facts.no_times;
	if (facts_is_pt(&account.facts) && !capture->no_times)
		capture->after_insns = account.after_insns;
	name = facts_is_pt(&account.facts) ? LOAD_FUNCTION : LOAD_INTERRUPT;
	capture->named = strstr(account.sentence, name);
	find_times(capture, &account);
}

struct reading {
	struct row_capture *capture;
	const char *name; /* to look for */
};

static void take_line(void *ctx, char *line)
{
	const struct reading *reading = ctx;
	struct row_capture *capture = reading->capture;

	if (strstr(line, reading->name))
		capture->perf_named = true;
	if (strstr(line, "instruction trace error"))
		capture->perf_errors++;
	else if (!strncmp(line, "Error", 5) || strstr(line, "failed to"))
		printable_copy(capture->perf_said, sizeof(capture->perf_said), line);
}

static int run_perf(struct row_capture *capture, char *const *argv, const char *name)
{
	struct reading reading = { capture, name };
	int status = perf_tool_lines(argv, true, take_line, &reading);

	capture->perf_ran = status >= 0;
	if (status > 0 && !*capture->perf_said)
		snprintf(capture->perf_said, sizeof(capture->perf_said),
			 "perf script fails with status %d", status);
	return status < 0 ? status : 0;
}

/* Shows the time during which the timer was late. */
void decode_by_perf(struct row_capture *capture, const struct perf_tool *perf, struct console *con)
{
	_cleanup_(argv_free_words) char **argv = NULL;
	_cleanup_free_ char *data = NULL, *why = NULL;
	struct analysis_hooks hooks;
	struct view_options options = { .window_ns = capture->told.spike->latency_ns };
	_cleanup_(capture_file_close) struct capture_file file = { 0 };
	int r;

	reader_hooks(con, &hooks);
	r = capture_trace_need(&hooks, capture->path, &file, &data, &why);
	if (r) {
		console_error(con, "%s", why ?: strerror(ENOMEM));
		return;
	}
	r = perf_script_argv(&file.facts, &options, perf->path, data, &argv);
	if (!r)
		r = run_perf(capture, argv,
			     facts_is_pt(&file.facts) ? LOAD_FUNCTION : LOAD_INTERRUPT);
	if (r)
		snprintf(capture->perf_said, sizeof(capture->perf_said), "%s", strerror(-r));
}
