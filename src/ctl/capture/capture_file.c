// SPDX-License-Identifier: GPL-2.0-only
#include "capture/capture_file.h"

#include <string.h>

#include "text.h"

uint64_t capture_file_number(const struct capture_file *file, const char *path, uint64_t unknown)
{
	perf_poke__capture_number(file->capture, path, &unknown);
	return unknown;
}

const char *capture_file_text(const struct capture_file *file, const char *path)
{
	return perf_poke__capture_text(file->capture, path) ?: "";
}

/* Events use the clock of the spike, Intel PT uses perf's: recorder.clock relates the two. */
static int put_spike_time(struct capture_file *file, char **why)
{
	const uint64_t time_ns = file->capture->spike->time_ns;
	struct view_capture *view = &file->view;
	uint64_t monotonic_ns, perf_ns;

	view->spike_ns = time_ns;
	if (view->recorder != PERF_POKE_RECORDER_PT)
		return 0;
	if (perf_poke__capture_number(file->capture, "recorder.clock.monotonic_ns", &monotonic_ns))
		return say_why(
			why, -EINVAL,
			"recorder.clock.monotonic_ns is missing or not a non-negative integer");
	/* Unknown if TSC was not perf's clock; earlier versions wrote 0. */
	perf_ns = capture_file_number(file, "recorder.clock.perf_ns", 0);
	view->no_times = !perf_ns;
	if (view->no_times)
		return 0;
	if (time_ns + perf_ns < monotonic_ns)
		return say_why(why, -EINVAL,
			       "recorder.clock: the spike is before the clock's start");
	view->spike_ns = time_ns + perf_ns - monotonic_ns;
	return 0;
}

static int put_view(struct capture_file *file, char **why)
{
	const struct perf_poke_capture *capture = file->capture;
	const struct perf_poke_spike *spike = capture->spike;
	const char *freeze = capture_file_text(file, "recorder.freeze");
	struct view_capture *view = &file->view;
	int r;

	view->recorder = view_recorder(capture->recorder);
	if (!view->recorder)
		return say_why(why, -EINVAL, "recorder.kind '%.32s' is unknown to this version",
			       capture->recorder);
	r = put_spike_time(file, why);
	if (r)
		return r;
	view->cpu = spike->cpu;
	view->latency_ns = spike->latency_ns;
	view->history_ns = capture->history_ns == UINT64_MAX ? 0 : capture->history_ns;
	if (spike->expected_ns && spike->expected_ns < spike->time_ns)
		view->expected_ns = view->spike_ns - (spike->time_ns - spike->expected_ns);
	/* Neither for pokes nor for spikes that involve two CPUs. */
	if (view->recorder != PERF_POKE_RECORDER_PT || view->cpu < 0 || spike->ran_cpu != view->cpu)
		return 0;
	view->sampled = !strcmp(freeze, "sample");
	view->ends_at_spike = view->sampled || !strcmp(freeze, "pause");
	return 0;
}

/* The library's message, which begins with the file name. */
static int explain(const char *folder, int r, char **why)
{
	const char *said = perf_poke__last_error();
	size_t name = strlen(folder) + strlen("/" CAPTURE_FILE_NAME ": ");

	return r == -EINVAL || r == -ENOTSUP
		       ? say_why(why, r, "%s", name < strlen(said) ? said + name : said)
		       : r;
}

int capture_file_open(struct capture_file *file, const char *folder, char **why)
{
	int r;

	*file = (struct capture_file){ 0 };
	r = perf_poke__capture_open(&file->capture, folder);
	return r ? explain(folder, r, why) : put_view(file, why);
}

void capture_file_close(struct capture_file *file)
{
	perf_poke__capture_close(file->capture);
	file->capture = NULL;
}
