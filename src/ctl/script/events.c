// SPDX-License-Identifier: GPL-2.0-only
/* Lines as those of perf script, but for samples of no tracepoint: these have no more than a name.
 */
#include "script/events.h"

#include <inttypes.h>
#include <signal.h>
#include <string.h>

#include "cpulist.h"
#include "printable.h"
#include "sideband.h"
#include "tracepoints.h"

#define NS_PER_S UINT64_C(1000000000)

static int choose_window(const struct script_args *args, const struct view_capture *capture,
			 struct sample_window *window, int **cpus)
{
	uint64_t ns = args->view.window_ns ?: VIEW_WINDOW_EVENTS_NS;

	*window = (struct sample_window){ .end = UINT64_MAX };
	if (!args->view.all) {
		window->begin = capture->spike_ns > ns ? capture->spike_ns - ns : 0;
		window->end = capture->spike_ns;
	}
	if (args->view.cpus) {
		int r = cpulist_parse(args->view.cpus, cpus, &window->nr_cpus);

		window->cpus = *cpus;
		return r;
	}
	if (capture->cpu >= 0 && !args->view.all_cpus) {
		window->cpus = &capture->cpu;
		window->nr_cpus = 1;
	}
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
		CLEAN(comm ?: unknown), event->tid, event->cpu, event->time / NS_PER_S,
		event->time % NS_PER_S, tracepoints_name_width(tracepoints), event->kind->name,
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
	while ((r = tracepoints_next(tracepoints, &event)) > 0) {
		r = print_event(out, tracepoints, sideband, &event);
		if (r)
			break;
	}
	sideband_free(sideband);
	return r ?: fflush(out) ? -errno : 0;
}

enum exit_code script_events(struct console *con, const struct script_args *args,
			     const struct view_capture *capture, const char *data)
{
	_cleanup_(tracepoints_freep) struct tracepoints *tracepoints = NULL;
	_cleanup_free_ char *why = NULL;
	_cleanup_free_ int *cpus = NULL;
	struct sample_window window;
	int r;

	if (!args->quiet)
		console_info(con, "there is no perf in PATH: this is what perf-poke itself shows");
	/* As perf does when what reads it goes away. */
	signal(SIGPIPE, SIG_DFL);
	r = choose_window(args, capture, &window, &cpus);
	if (!r)
		r = tracepoints_open(&tracepoints, data, &window, &why);
	if (!r)
		r = print_events(con->out, tracepoints, &why);
	if (r)
		console_error(con, "'%s': %s", args->capture, why ?: strerror(-r));
	return r ? EXIT_FAILED : EXIT_FINE;
}
