// SPDX-License-Identifier: GPL-2.0-only
#include "account_load.h"

#include <inttypes.h>
#include <string.h>
#include <sys/wait.h>

#include "capture_facts.h"
#include "export.h"
#include "fxt_spans.h"
#include "script.h"
#include "temporary.h"
#include "trace_end.h"

static int fail(struct console *con, const char *folder, int r, const char *why)
{
	console_error(con, "'%s': %s", folder, why ?: strerror(-r));
	return r;
}

static int read_trace(struct account *account, struct console *con, FILE *file)
{
	_cleanup_free_ char *why = NULL;
	int r = fxt_spans_read(file, account->facts.cpu, account->spans, &why);

	if (r == -E2BIG)
		return fail(con, account->capture, r,
			    "more than a report can hold: use a shorter --window");
	if (r == -ENODATA)
		return fail(con, account->capture, r,
			    "there is no trace of the spike's CPU in the window");
	return r ? fail(con, account->capture, r, why) : 0;
}

static void complain(struct console *con, const char *folder, const struct export_result *result)
{
	if (result->complaint)
		console_error(con, "'%s' cannot be decoded: %s", folder, result->complaint);
	else
		console_error(con,
			      "'%s' cannot be decoded: perf failed with status %d, and did "
			      "not say why",
			      folder, WEXITSTATUS(result->status));
}

static int run_export(struct account *account, struct console *con,
		      const struct view_capture *capture, const struct export_args *args,
		      const char *data, const char *output)
{
	_cleanup_(export_result_release) struct export_result result = { 0 };
	_cleanup_(perf_tool_release) struct perf_tool perf = { 0 };
	_cleanup_(view_free_argv) char **argv = NULL;
	_cleanup_free_ char *dlfilter = NULL;
	int r = export_find_tools(con, &perf, &dlfilter);

	if (r)
		return r;
	r = export_argv(args, capture, perf.path, dlfilter, data, output, &argv);
	if (!r)
		r = export_run(con, capture, argv, &result);
	if (r)
		return fail(con, account->capture, r, NULL);
	if (!result.done) {
		if (!result.interrupted)
			complain(con, account->capture, &result);
		return -EIO;
	}
	account->errors = result.errors;
	return 0;
}

static int export_window(struct account *account, struct console *con,
			 const struct view_capture *capture, const char *data, uint64_t after_ns,
			 const char *output)
{
	char window[64];
	const struct export_args args = { .capture = account->capture, .time = window };

	snprintf(window, sizeof(window), "-%" PRIu64 "ns,%" PRIu64 "ns", account->window_ns,
		 after_ns);
	return run_export(account, con, capture, &args, data, output);
}

/* Where there are no times. */
static int export_end(struct account *account, struct console *con,
		      const struct view_capture *capture, const char *data,
		      const struct temporary *temporary)
{
	const struct export_args args = { .capture = account->capture, .axis = EXPORT_INSNS };
	_cleanup_free_ char *end = NULL;
	int r;

	if (asprintf(&end, "%s/perf.data", temporary->folder) < 0) {
		end = NULL;
		return fail(con, account->capture, -ENOMEM, NULL);
	}
	r = trace_end_copy(data, capture->cpu, end);
	if (r)
		return fail(con, account->capture, r, NULL);
	return run_export(account, con, capture, &args, end, temporary->file);
}

/* As `export` has it, in a folder that goes away before it is read. */
static int load_trace(struct account *account, struct console *con,
		      const struct view_capture *capture, const char *data, uint64_t after_ns)
{
	_cleanup_fclose_ FILE *file = NULL;
	struct temporary temporary;
	int r, error;

	r = temporary_make(&temporary, con, "trace.fxt");
	if (r)
		return r;
	r = capture->no_times
		    ? export_end(account, con, capture, data, &temporary)
		    : export_window(account, con, capture, data, after_ns, temporary.file);
	file = r ? NULL : fopen(temporary.file, "re");
	error = errno;
	if (temporary_remove(&temporary)) {
		console_error(con, "interrupted");
		return -EINTR;
	}
	if (r)
		return r;
	return file ? read_trace(account, con, file) : fail(con, account->capture, -error, NULL);
}

static int load_spans(struct account *account, struct console *con,
		      const struct view_capture *capture, const char *data, uint64_t after_ns)
{
	uint64_t spike = account->facts.time_ns;
	int r = spans_new(&account->spans);

	if (r)
		return fail(con, account->capture, r, NULL);
	if (capture->kind == VIEW_PERF)
		return 0;
	if (capture->kind == VIEW_PT)
		return load_trace(account, con, capture, data, after_ns);
	return report_events_read(con, account->capture, capture, data,
				  spike > account->window_ns ? spike - account->window_ns : 0,
				  account->spans);
}

int account_load(struct account *account, struct console *con, const char *folder,
		 uint64_t window_ns, uint64_t after_ns)
{
	_cleanup_free_ char *data = NULL;
	struct capture_file capture;
	int r;

	*account = (struct account){ .capture = folder };
	r = script_read_capture(con, folder, &capture, &data);
	if (r)
		return r;
	r = capture_facts(&account->facts, &capture);
	if (r)
		return fail(con, folder, r, CAPTURE_FILE_NAME ": its times make no sense");
	account->window_ns = window_ns ?: findings_window(&account->facts);
	r = load_spans(account, con, &capture.view, data, after_ns);
	if (!r) {
		r = account_finish(account);
		if (r)
			fail(con, folder, r, NULL);
	}
	if (r)
		account_release(account);
	return r;
}
