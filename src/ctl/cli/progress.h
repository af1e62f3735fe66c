/* SPDX-License-Identifier: GPL-2.0-only */
/* Progress of a long copy: shown on a terminal after a second, and cancelled by Ctrl-C. */
#ifndef CTL_CLI_PROGRESS_H
#define CTL_CLI_PROGRESS_H

#include <stdint.h>

#include "cli/console.h"

struct progress {
	struct console *con;
	const char *what;
	uint64_t total; /* bytes; 0: unknown */
	uint64_t done;
	uint64_t shown_ns; /* time of the last update, or of the start */
	int signals;	   /* from ending_open() */
};

/* From now on, the signals of ending.h cancel the work instead of killing the process. */
void progress_begin(struct progress *progress, struct console *con, const char *what,
		    uint64_t total);

/* Return 0, or -EINTR if cancelled. progress_wait() waits for fd like poll(). */
int progress_add(void *progress, uint64_t bytes);
int progress_wait(void *progress, int fd, short events);

/* The signals stay blocked, so that cleanup is not interrupted. */
void progress_end(struct progress *progress);

#endif
