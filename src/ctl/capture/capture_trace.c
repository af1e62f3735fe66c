// SPDX-License-Identifier: GPL-2.0-only
#include "capture/capture_trace.h"

#include <string.h>

#include "capture/layout.h"
#include "capture/perf_data.h"

static int join(char **path, const char *folder, const char *name)
{
	if (asprintf(path, "%s/%s", folder, name) >= 0)
		return 0;
	*path = NULL;
	return -ENOMEM;
}

/* Returns 0, or a negative errno and the error has been printed. */
static int read_facts(struct console *con, const char *folder, struct capture_file *file)
{
	_cleanup_close_ int fd = open(folder, O_PATH | O_DIRECTORY | O_CLOEXEC);
	_cleanup_free_ char *why = NULL;
	int r = fd < 0 ? -errno : capture_file_read(file, fd, &why);

	if (r && why)
		console_error(con, "%s/" CAPTURE_FILE_NAME ": %s", folder, why);
	else if (r)
		console_error(con,
			      "'%s' is not a capture: cannot read %s/" CAPTURE_FILE_NAME ": %s",
			      folder, folder, strerror(-r));
	return r;
}

int capture_trace_find(struct console *con, const char *folder, struct capture_file *capture,
		       char **data)
{
	_cleanup_free_ char *events = NULL;
	_cleanup_free_ char *why = NULL;
	int r;

	r = read_facts(con, folder, capture);
	if (r || capture->view.kind == VIEW_PERF)
		return r;
	r = join(data, folder, "perf.data");
	if (!r)
		r = join(&events, *data, "data");
	if (!r)
		r = perf_data_check(events, &why);
	if (r)
		console_error(con, "'%s': %s", folder, why ?: strerror(-r));
	return r;
}

int capture_trace_need(struct console *con, const char *folder, struct capture_file *capture,
		       char **data)
{
	int r = capture_trace_find(con, folder, capture, data);

	if (r || *data)
		return r;
	console_error(con, "'%s' has no trace: that is in the perf.data of the perf that was poked",
		      folder);
	return -ENODATA;
}

bool capture_trace_lacks_times(struct console *con, const char *folder,
			       const struct view_capture *capture)
{
	if (capture->no_times)
		console_error(con,
			      "the trace of '%s' has no times, for TSC was not perf's clock: use "
			      "script without --window, export with --axis instructions and "
			      "without --time",
			      folder);
	return capture->no_times;
}

int capture_trace_buildid_dir(const char *folder, char **buildid_dir)
{
	_cleanup_free_ char *path = NULL;
	int r = join(&path, folder, LAYOUT_BUILDID);

	*buildid_dir = r || access(path, X_OK) ? NULL : TAKE_PTR(path);
	return r;
}
