// SPDX-License-Identifier: GPL-2.0-only
#include <string.h>

#include "capture/captures.h"
#include "cli/cli.h"
#include "export/export.h"
#include "output/fxt.h"
#include "text.h"
#include "units.h"

static void tell(struct console *con, const struct export_args *args,
		 const struct decoding_result *result)
{
	const struct decode_stats *stats = &result->stats;

	if (result->errors)
		console_warn(con, "%s, first: %s; %s",
			     FORMAT_COUNT(result->errors, "decoding error", "decoding errors"),
			     result->first_error, result->error_help);
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
	console_info(con, "%s: %s", args->output, FORMAT_COUNT(result->slices, "slice", "slices"));
	if (result->gaps)
		console_info(con, "%s in the trace", FORMAT_COUNT(result->gaps, "gap", "gaps"));
}

static int write_trace(struct console *con, const struct export_args *args,
		       const struct facts *facts, const char *data,
		       const struct fxt_timeline_opts *file, struct decoding_result *result)
{
	struct decoding decoding = {
		.folder = args->capture,
		.data = data,
		.symfs = args->symfs,
		.facts = facts,
		.doing = "exporting",
		.cpu = -1,
		.threads = args->jobs ? (unsigned int)args->jobs : decoding_threads(),
		.axis = (enum calls_axis)args->axis,
		.end = UINT64_MAX,
	};
	struct fxt_timeline *sink = NULL;
	struct names *names = NULL;
	int r = args->time ? window_parse(args->time, facts->spike.time_ns, &decoding.begin,
					  &decoding.end)
			   : 0;

	if (!r)
		r = names_new(&names);
	if (!r)
		r = fxt_timeline_new(&sink, file, names);
	if (r)
		capture_trace_error(con, args->capture, r, NULL);
	else
		r = decoding_run(con, &decoding, &fxt_timeline_ops, sink, names, result);
	if (!r && decoding.axis == CALLS_CYCLES && !result->end) {
		console_error(con,
			      "--axis cycles: '%s' has no cycles: use --axis instructions, or "
			      "record with the term cyc of intel_pt",
			      args->capture);
		r = -ENODATA;
	}
	fxt_timeline_free(sink);
	names_free(names);
	return r;
}

enum exit_code export_fxt(struct console *con, const struct export_args *args,
			  const struct facts *facts, const char *data)
{
	struct decoding_result result = { 0 };
	struct output_file output;
	struct fxt_timeline_opts file = { .path = args->output, .body = -1 };
	struct unchanged unchanged;
	bool told = false;
	int r;

	unchanged_begin(&unchanged, args->capture);
	r = output_file_open(&output, args->output, args->force);
	if (!r) {
		file.fd = output.fd;
		file.body = output_file_scratch(&output);
		r = file.body < 0 ? file.body : 0;
	}
	if (!r) {
		r = facts->recorder == PERF_POKE_RECORDER_EVENTS
			    ? export_events(con, args, facts, data, &file, &result.slices)
			    : write_trace(con, args, facts, data, &file, &result);
		r = unchanged_end(&unchanged, con, r);
		told = r;
		if (!r)
			r = output_file_publish(&output);
	}
	if (r && !told)
		console_error(con, "--output '%s': %s", args->output, output_file_strerror(r));
	if (!r)
		tell(con, args, &result);
	closep(&file.body);
	output_file_close(&output);
	return r ? EXIT_FAILED : EXIT_FINE;
}
