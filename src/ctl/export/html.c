// SPDX-License-Identifier: GPL-2.0-only
#include <inttypes.h>

#include "capture/captures.h"
#include "cli/cli.h"
#include "export/export.h"
#include "output/output.h"

/* Default time after the spike: the time before it, divided by this. */
#define AFTER_PART 4

/* Returns 0, or a negative errno without leaving a file. */
static int write_file(const struct export_args *args, const struct account *account,
		      const struct comparison *comparison)
{
	struct output_file output;
	FILE *file = NULL;
	int r = output_file_open(&output, args->html, args->force);

	if (!r) {
		file = fdopen(dup(output.fd), "w");
		r = file ? html_write(file, account, comparison) : -errno;
	}
	if (file && fclose(file))
		r = r ?: -errno;
	if (!r)
		r = output_file_publish(&output);
	output_file_close(&output);
	return r;
}

/* Gets the window of --time around the spike; a *before_ns of 0 means the default. */
static int find_window(const struct export_args *args, const struct facts *facts,
		       uint64_t *before_ns, uint64_t *after_ns)
{
	uint64_t spike = facts->spike.time_ns, begin, end;
	int r;

	*before_ns = 0;
	*after_ns = (facts->spike.latency_ns > VIEW_WINDOW_PT_NS ? facts->spike.latency_ns
								 : VIEW_WINDOW_PT_NS) /
		    AFTER_PART;
	if (!args->time)
		return 0;
	r = window_parse(args->time, spike, &begin, &end);
	if (r)
		return r;
	if (begin >= spike || end < spike)
		return -ERANGE;
	*before_ns = spike - begin;
	/* The end of the trace. */
	if (end == UINT64_MAX)
		end = spike + *before_ns;
	*after_ns = end - spike;
	return 0;
}

enum exit_code export_html(struct console *con, const struct export_args *args,
			   const struct facts *facts)
{
	_cleanup_(account_release) struct account account = { 0 };
	_cleanup_(comparison_release) struct comparison comparison = { 0 };
	const struct comparison_want normal = { .folder = args->capture,
						.symfs = args->symfs,
						.activations = NORMAL_ACTIVATIONS };
	struct account_want want = { .symfs = args->symfs };
	int r = find_window(args, facts, &want.window_ns, &want.after_ns);

	if (r) {
		console_error(con,
			      "--time '%s': must begin before the spike and end at it or "
			      "after, as -1ms,200us",
			      args->time);
		return EXIT_USAGE;
	}
	if (account_load(&account, con, args->capture, &want))
		return EXIT_FAILED;
	if (args->normal) {
		r = comparison_load(&comparison, con, &normal);
		if (r)
			return r == -EXDEV ? EXIT_USAGE : EXIT_FAILED;
	}
	r = write_file(args, &account, args->normal ? &comparison : NULL);
	if (r) {
		console_error(con, "--html '%s': %s", args->html, output_file_strerror(r));
		return EXIT_FAILED;
	}
	if (!args->quiet)
		console_info(con, "%s: %" PRIu32 " slices", args->html,
			     account.spans->lanes[LANE_CODE].nr);
	return EXIT_FINE;
}
