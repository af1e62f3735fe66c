// SPDX-License-Identifier: GPL-2.0-only
#include "progress.h"

#include "clock.h"
#include "units.h"

#define SHOW_EVERY_NS NSEC_PER_SEC

void progress_begin(struct progress *progress, struct console *con, const char *what,
		    uint64_t total)
{
	*progress = (struct progress){ .con = con, .what = what, .total = total };
	progress->shown_ns = clock_ns(CLOCK_MONOTONIC);
	sigemptyset(&progress->signals);
	sigaddset(&progress->signals, SIGINT);
	sigaddset(&progress->signals, SIGTERM);
	sigaddset(&progress->signals, SIGHUP);
	sigprocmask(SIG_BLOCK, &progress->signals, NULL);
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

int progress_add(void *ctx, uint64_t bytes)
{
	static const struct timespec none;
	struct progress *progress = ctx;
	uint64_t now_ns = clock_ns(CLOCK_MONOTONIC);

	progress->done += bytes;
	if (sigtimedwait(&progress->signals, NULL, &none) > 0)
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
}
