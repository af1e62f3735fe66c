// SPDX-License-Identifier: GPL-2.0-only
#include "cli/progress.h"

#include <poll.h>

#include "cli/ending.h"
#include "clock.h"
#include "units.h"

#define SHOW_EVERY_NS NSEC_PER_SEC

void progress_begin(struct progress *progress, struct console *con, const char *what,
		    uint64_t total)
{
	*progress = (struct progress){ .con = con, .what = what, .total = total };
	progress->shown_ns = clock_ns(CLOCK_MONOTONIC);
	progress->signals = ending_open();
}

static void show(struct progress *progress)
{
	char line[128];

	if (progress->total)
		snprintf(line, sizeof(line), "%s: %d%% of %s", progress->what,
			 (int)(progress->done * 100.0 / (double)progress->total),
			 FORMAT_SIZE(progress->total));
	else
		snprintf(line, sizeof(line), "%s: %s", progress->what, FORMAT_SIZE(progress->done));
	console_status(progress->con, line);
}

static int await(const struct progress *progress, int fd, short events, int timeout_ms)
{
	struct pollfd fds[] = {
		{ .fd = progress->signals, .events = POLLIN },
		{ .fd = fd, .events = events },
	};

	while (poll(fds, ARRAY_SIZE(fds), timeout_ms) < 0 && errno == EINTR)
		;
	return fds[0].revents ? -EINTR : 0;
}

int progress_wait(void *ctx, int fd, short events)
{
	return await(ctx, fd, events, -1);
}

int progress_add(void *ctx, uint64_t bytes)
{
	struct progress *progress = ctx;
	uint64_t now_ns = clock_ns(CLOCK_MONOTONIC);

	progress->done += bytes;
	if (await(progress, -1, 0, 0))
		return -EINTR;
	if (now_ns - progress->shown_ns < SHOW_EVERY_NS)
		return 0;
	progress->shown_ns = now_ns;
	if (console_has_status(progress->con))
		show(progress);
	return 0;
}

void progress_end(struct progress *progress)
{
	console_clear_status(progress->con);
	closep(&progress->signals);
}
