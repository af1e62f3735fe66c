// SPDX-License-Identifier: GPL-2.0-only
/* Lines like those of perf script. Samples of other events than tracepoints have a name only. */
#include <inttypes.h>

#include "capture/capture_trace.h"
#include "clock.h"
#include "cpulist.h"
#include "events/tracepoints.h"
#include "script/script.h"
#include "sideband/sideband.h"
#include "text.h"

int script_cpus(const struct script_args *args, const struct facts *facts, int **cpus, size_t *nr)
{
	*nr = 0;
	if (args->view.cpus)
		return cpulist_parse(args->view.cpus, cpus, nr);
	if (facts->spike.cpu < 0 || args->view.all_cpus)
		return 0;
	*cpus = malloc(sizeof(**cpus));
	if (!*cpus)
		return -ENOMEM;
	**cpus = facts->spike.cpu;
	*nr = 1;
	return 0;
}

static int print_event(FILE *out, struct tracepoints *tracepoints, const struct sideband *sideband,
		       const struct tracepoint_event *event)
{
	const char *comm = sideband_comm(sideband, event->tid, event->time), *fields;
	int r = tracepoints_print(tracepoints, event, &fields);
	char unknown[16];

	if (r)
		return r;
	snprintf(unknown, sizeof(unknown), ":%d", event->tid);
	fprintf(out, "%16s %5d [%03d] %5" PRIu64 ".%09" PRIu64 ": %*s: %s\n",
		CLEAN(comm ?: unknown), event->tid, event->cpu, event->time / NSEC_PER_SEC,
		event->time % NSEC_PER_SEC, tracepoints_name_width(tracepoints), event->kind->name,
		fields);
	return ferror(out) ? -EIO : 0;
}

static int print_events(FILE *out, struct tracepoints *tracepoints, char **why)
{
	struct tracepoint_event event;
	struct sideband *sideband;
	int r = sideband_new(&sideband, tracepoints_file(tracepoints), why);

	if (r)
		return r;
	while (!r && tracepoints_next(tracepoints, &event))
		r = print_event(out, tracepoints, sideband, &event);
	sideband_free(sideband);
	return r ?: fflush(out) ? -errno : 0;
}

enum exit_code script_events(struct console *con, const struct script_args *args,
			     const struct facts *facts, const char *data)
{
	_cleanup_(tracepoints_freep) struct tracepoints *tracepoints = NULL;
	uint64_t spike = facts->spike.time_ns, ns = args->view.window_ns ?: VIEW_WINDOW_EVENTS_NS;
	struct sample_window window = { .end = UINT64_MAX };
	_cleanup_free_ char *why = NULL;
	_cleanup_free_ int *cpus = NULL;
	int r = script_cpus(args, facts, &cpus, &window.nr_cpus);

	window.cpus = cpus;
	if (!args->view.all) {
		window.begin = spike > ns ? spike - ns : 0;
		window.end = spike;
	}
	if (!r)
		r = tracepoints_open(&tracepoints, data, &window, &why);
	if (!r)
		r = print_events(con->out, tracepoints, &why);
	if (r)
		capture_trace_error(con, args->capture, r, why);
	return r ? EXIT_FAILED : EXIT_FINE;
}
