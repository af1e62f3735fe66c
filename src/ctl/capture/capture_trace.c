// SPDX-License-Identifier: GPL-2.0-only
#include "capture/captures.h"
#include "capture/layout.h"

#include <inttypes.h>
#include <string.h>

#include "cli/cli.h"
#include "io.h"
#include "perfdata_read.h"
#include "text.h"

int capture_trace_error(struct console *con, const char *folder, int r, const char *why)
{
	if (r == -EINTR)
		console_error(con, "interrupted: nothing is written");
	else
		console_error(con, "'%s': %s", folder,
			      why	    ? why
			      : r == -E2BIG ? "too many calls for a report: use a shorter --window"
			      : r == -ENODATA ? "no trace of the spike's CPU in the window"
					      : reader_strerror(r));
	return r;
}

int capture_trace_open(struct console *con, const char *folder, struct capture_file *capture)
{
	_cleanup_free_ char *why = NULL;
	int r = capture_file_open(capture, folder, &why);

	if (r && why)
		console_error(con, "%s/" CAPTURE_FILE_NAME ": %s", folder, why);
	else if (r)
		console_error(con,
			      "'%s' is not a capture: cannot read %s/" CAPTURE_FILE_NAME ": %s",
			      folder, folder, strerror(-r));
	return r;
}

static int check_data(const char *path, char **why)
{
	_cleanup_close_ int fd = regular_open(AT_FDCWD, path);
	struct perfdata_file file;
	int r = fd < 0 ? fd : perfdata_map(&file, fd);

	if (fd == -EINVAL)
		return say_why(why, fd, "%s is not a regular file", path);
	if (r == -EINVAL)
		return say_why(why, r, "%s is not a perf.data file", path);
	if (r == -ENOTSUP)
		return say_why(why, r,
			       "%s was written to a pipe (perf record -o -): perf script "
			       "reads it",
			       path);
	if (r)
		return say_why(why, r, "cannot read %s: %s", path, strerror(-r));
	if (file.size < file.whole)
		r = say_why(why, -EINVAL,
			    "%s is truncated: it has %" PRIu64 " of %" PRIu64 " bytes", path,
			    file.size, file.whole);
	perfdata_unmap(&file);
	return r;
}

int capture_trace_find(struct console *con, const char *folder, struct capture_file *capture,
		       char **data)
{
	_cleanup_free_ char *events = NULL;
	_cleanup_free_ char *why = NULL;
	int r = capture_trace_open(con, folder, capture);

	if (r || !facts_have_trace(&capture->facts))
		return r;
	*data = strfmt("%s/perf.data", folder);
	events = strfmt("%s/perf.data/data", folder);
	r = *data && events ? check_data(events, &why) : -ENOMEM;
	return r ? capture_trace_error(con, folder, r, why) : 0;
}

int capture_trace_need(struct console *con, const char *folder, struct capture_file *capture,
		       char **data)
{
	int r = capture_trace_find(con, folder, capture, data);

	if (r || *data)
		return r;
	if (capture->facts.recorder == PERF_POKE_RECORDER_PERF)
		console_error(con,
			      "'%s' has no trace: the poked perf wrote it to its own perf.data",
			      folder);
	else
		console_error(con, "'%s' has no trace: the recorder %s was chosen", folder,
			      perf_poke__name(PERF_POKE_AXIS_RECORDER, capture->facts.recorder));
	return -ENODATA;
}

bool capture_trace_lacks_times(struct console *con, const char *folder, const struct facts *facts)
{
	if (facts->no_times)
		console_error(con,
			      "the trace of '%s' has no times, because TSC was not perf's clock: "
			      "use script without --window, export with --axis instructions and "
			      "without --time",
			      folder);
	return facts->no_times;
}

int capture_trace_buildid_dir(const char *folder, char **buildid_dir)
{
	_cleanup_free_ char *path = strfmt("%s/" LAYOUT_BUILDID, folder);

	*buildid_dir = path && !access(path, X_OK) ? TAKE_PTR(path) : NULL;
	return path || *buildid_dir ? 0 : -ENOMEM;
}

int capture_trace_events(struct tracepoints **tracepoints, struct user_code *user,
			 const char *folder, const char *data, const char *symfs,
			 const struct sample_window *window, char **why)
{
	int r = tracepoints_open(tracepoints, data, window, why);

	if (r)
		return r;
	user->file = tracepoints_file(*tracepoints);
	user->data = data;
	user->symfs = symfs;
	return capture_trace_buildid_dir(folder, &user->buildid_dir);
}
