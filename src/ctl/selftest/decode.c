// SPDX-License-Identifier: GPL-2.0-only
#include "selftest/decode.h"

#include <string.h>

#include "capture/account_load.h"
#include "capture/capture_trace.h"
#include "cli/words.h"
#include "printable.h"
#include "selftest/load.h"

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
	const char *name;

	if (account_load(&account, con, capture->path, &want))
		return;
	capture->sentence = strdup(account.sentence);
	capture->errors = account.errors;
	capture->no_times = account.facts.no_times;
	name = account.facts.pt ? LOAD_FUNCTION : LOAD_INTERRUPT;
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
	_cleanup_(words_freep) char **argv = NULL;
	_cleanup_free_ char *data = NULL;
	struct view_options options = { .window_ns = capture->told.spike->latency_ns };
	_cleanup_(capture_file_close) struct capture_file file = { 0 };
	int r = capture_trace_need(con, capture->path, &file, &data);

	if (r)
		return;
	r = view_argv(&file.view, &options, perf->path, data, &argv);
	if (!r)
		r = run_perf(capture, argv,
			     file.view.recorder == PERF_POKE_RECORDER_PT ? LOAD_FUNCTION
									 : LOAD_INTERRUPT);
	if (r)
		snprintf(capture->perf_said, sizeof(capture->perf_said), "%s", strerror(-r));
}
