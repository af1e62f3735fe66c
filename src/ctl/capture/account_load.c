// SPDX-License-Identifier: GPL-2.0-only
#include "capture/account_load.h"

#include <string.h>

#include "capture/capture_facts.h"
#include "capture/capture_trace.h"
#include "capture/decoding.h"
#include "cli/ending.h"
#include "track_spans.h"

static int fail(struct console *con, const char *folder, int r, const char *why)
{
	console_error(con, "'%s': %s", folder, why ?: strerror(-r));
	return r;
}

static int explain(struct console *con, const char *folder, int r)
{
	if (r == -EINTR)
		console_error(con, "interrupted");
	else
		fail(con, folder, r,
		     r == -E2BIG     ? "more than a report can hold: use a shorter --window"
		     : r == -ENODATA ? "there is no trace of the spike's CPU in the window"
				     : NULL);
	return r;
}

static int load_trace(struct account *account, struct console *con,
		      const struct view_capture *capture, const char *data,
		      const struct account_want *want)
{
	_cleanup_(track_spans_freep) struct track_spans *sink = NULL;
	uint64_t spike = capture->spike_ns, window_ns = account->window_ns;
	struct decoding decoding = {
		.folder = account->capture,
		.data = data,
		.symfs = want->symfs,
		.capture = capture,
		.doing = "decoding",
		.cpu = capture->cpu,
		.threads = decoding_threads(),
		.begin = spike > window_ns ? spike - window_ns : 0,
		.end = spike + want->after_ns,
	};
	struct decoding_result result;
	struct ending ending;
	bool said = false;
	int r = track_spans_new(&sink, account->spans, capture->cpu);

	if (capture->no_times) {
		decoding.axis = CALLS_INSNS;
		decoding.tail = DECODING_TAIL;
		decoding.begin = 0;
		decoding.end = UINT64_MAX;
	}
	ending_catch(&ending);
	if (!r)
		r = decoding_run(con, &decoding, &track_spans_ops, sink, account->spans->names,
				 &result, &said);
	ending_release(&ending);
	if (r)
		return said ? r : explain(con, account->capture, r);
	account->errors = result.stats.errors;
	return 0;
}

static int load_spans(struct account *account, struct console *con,
		      const struct view_capture *capture, const char *data,
		      const struct account_want *want)
{
	uint64_t spike = account->facts.time_ns;
	int r = spans_new(&account->spans);

	if (r)
		return fail(con, account->capture, r, NULL);
	if (capture->kind == VIEW_PERF)
		return 0;
	if (capture->kind == VIEW_PT)
		return load_trace(account, con, capture, data, want);
	return report_events_read(con, account->capture, capture, data,
				  spike > account->window_ns ? spike - account->window_ns : 0,
				  account->spans);
}

int account_load(struct account *account, struct console *con, const char *folder,
		 const struct account_want *want)
{
	_cleanup_free_ char *data = NULL;
	struct capture_file capture;
	int r;

	*account = (struct account){ .capture = folder };
	r = capture_trace_find(con, folder, &capture, &data);
	if (r)
		return r;
	r = capture_facts(&account->facts, &capture);
	if (r)
		return fail(con, folder, r, CAPTURE_FILE_NAME ": its times make no sense");
	account->window_ns = want->window_ns ?: findings_window(&account->facts);
	r = load_spans(account, con, &capture.view, data, want);
	if (!r) {
		r = account_finish(account);
		if (r)
			fail(con, folder, r, NULL);
	}
	if (r)
		account_release(account);
	return r;
}
