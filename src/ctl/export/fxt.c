// SPDX-License-Identifier: GPL-2.0-only
#include <string.h>

#include "capture/capture_trace.h"
#include "capture/decoding.h"
#include "cli/cli.h"
#include "export/export.h"
#include "export/window.h"
#include "fxt/fxt_timeline.h"
#include "strfmt.h"
#include "tree.h"
#include "units.h"

/* Moves the files of the temporary folder next to it. Returns how many, or a negative errno. */
static int publish(const char *folder, const struct export_args *args)
{
	const char *output = args->output;
	const char *slash = strrchr(output, '/');
	int length = slash ? (int)(slash - output) + 1 : 0;
	_cleanup_closedir_ DIR *dir = opendir(folder);
	struct dirent *entry;
	int nr = 0, r;

	if (!dir)
		return -errno;
	while ((entry = readdir(dir))) {
		_cleanup_free_ char *path = NULL;

		if (entry->d_name[0] == '.')
			continue;
		path = strfmt("%.*s%s", length, output, entry->d_name);
		if (!path)
			return -ENOMEM;
		r = output_file_rename(dirfd(dir), entry->d_name, path, args->force);
		if (r)
			return r;
		nr++;
	}
	return nr;
}

static void tell(struct console *con, const struct export_args *args,
		 const struct decoding_result *result, int nr)
{
	const struct decode_stats *stats = &result->stats;

	if (stats->errors)
		console_warn(con, "%s, first: %s",
			     FORMAT_COUNT(stats->errors, "decoding error", "decoding errors"),
			     stats->first_error);
	if (stats->overflows)
		console_warn(con, "%s of Intel PT: trace was lost",
			     FORMAT_COUNT(stats->overflows, "overflow", "overflows"));
	if (stats->truncated)
		console_warn(con, "full buffer %s: trace was lost",
			     FORMAT_COUNT(stats->truncated, "time", "times"));
	if (stats->lost_records)
		console_warn(con, "%s lost by the kernel: names of tasks and files may be wrong",
			     FORMAT_COUNT(stats->lost_records, "record", "records"));
	if (args->quiet)
		return;
	console_info(con, "%s: %s%s%s", args->output,
		     FORMAT_COUNT(result->slices, "slice", "slices"), args->split_ns ? " in " : "",
		     args->split_ns ? FORMAT_COUNT(nr, "file", "files") : "");
	if (result->gaps)
		console_info(con, "%s in the trace", FORMAT_COUNT(result->gaps, "gap", "gaps"));
}

static int write_trace(struct console *con, const struct export_args *args,
		       const struct view_capture *capture, const char *data, const char *path,
		       struct decoding_result *result)
{
	const struct fxt_timeline_opts opts = {
		.path = path,
		.split = args->split_ns,
		.stop = &ending_asked,
	};
	struct decoding decoding = {
		.folder = args->capture,
		.data = data,
		.symfs = args->symfs,
		.capture = capture,
		.doing = "exporting",
		.cpu = -1,
		.threads = args->jobs ? (unsigned int)args->jobs : decoding_threads(),
		.axis = (enum calls_axis)args->axis,
		.threads_only = args->tracks,
		.end = UINT64_MAX,
		.split = args->split_ns,
	};
	struct fxt_timeline *sink = NULL;
	struct names *names = NULL;
	int r = args->time ? window_parse(args->time, capture->spike_ns, &decoding.begin,
					  &decoding.end)
			   : 0;

	if (!r)
		r = names_new(&names);
	if (!r)
		r = fxt_timeline_new(&sink, &opts, names);
	if (r)
		capture_trace_error(con, args->capture, r, NULL);
	else
		r = decoding_run(con, &decoding, &fxt_timeline_ops, sink, names, result);
	fxt_timeline_free(sink);
	names_free(names);
	return r;
}

static int write_in(struct console *con, const struct export_args *args,
		    const struct view_capture *capture, const char *data, const char *folder)
{
	const char *slash = strrchr(args->output, '/');
	struct decoding_result result = { 0 };
	_cleanup_free_ char *path = strfmt("%s/%s", folder, slash ? slash + 1 : args->output);
	int r;

	if (!path)
		return capture_trace_error(con, args->capture, -ENOMEM, NULL);
	if (capture->recorder == PERF_POKE_RECORDER_EVENTS)
		r = export_events(con, args, capture, data, path, &result.slices);
	else
		r = write_trace(con, args, capture, data, path, &result);
	if (r)
		return r;
	r = publish(folder, args);
	if (r < 0) {
		console_error(con, "--output '%s': %s", args->output, output_file_strerror(r));
		return r;
	}
	tell(con, args, &result, r);
	return 0;
}

enum exit_code export_fxt(struct console *con, const struct export_args *args,
			  const struct view_capture *capture, const char *data)
{
	_cleanup_free_ char *folder = strfmt("%s.XXXXXX", args->output);
	struct ending ending;
	int r = 0;

	ending_catch(&ending);
	if (!folder || !mkdtemp(folder)) {
		r = -errno;
		console_error(con, "--output '%s': %s", args->output, strerror(errno));
	} else {
		/* The files appear together, once all are complete. */
		r = write_in(con, args, capture, data, folder);
		tree_remove(AT_FDCWD, folder);
	}
	ending_release(&ending);
	return r ? EXIT_FAILED : EXIT_FINE;
}
