// SPDX-License-Identifier: GPL-2.0-only
#include <string.h>

#include "capture/account_load.h"
#include "events_spans.h"

static int fail(struct console *con, const char *folder, int r, const char *why)
{
	console_error(con, "'%s': %s", folder, why ?: strerror(-r));
	return r;
}

int report_events_read(struct console *con, const char *folder, const struct view_capture *capture,
		       const char *data, uint64_t begin, struct spans *spans)
{
	_cleanup_(tracepoints_freep) struct tracepoints *tracepoints = NULL;
	const struct sample_window window = {
		.cpus = &capture->cpu,
		.nr_cpus = capture->cpu >= 0,
		.end = capture->spike_ns,
	};
	_cleanup_free_ char *why = NULL;
	int r = tracepoints_open(&tracepoints, data, &window, &why);

	if (r)
		return fail(con, folder, r, why);
	r = events_spans_read(tracepoints, begin, capture->spike_ns, spans);
	if (r == -E2BIG)
		return fail(con, folder, r, "more than a report can hold: use a shorter --window");
	if (r == -ENODATA)
		return fail(con, folder, r, "there are no events of the spike's CPU");
	return r ? fail(con, folder, r, NULL) : 0;
}
