/* SPDX-License-Identifier: GPL-2.0-only */
/* Work that may take a while: shown on a terminal after a second, and ended by Ctrl-C. */
#ifndef CTL_CLI_PROGRESS_H
#define CTL_CLI_PROGRESS_H

#include <stdint.h>

#include "cli/console.h"

struct progress {
	struct console *con;
	const char *what;
	uint64_t total; /* bytes; 0: not known */
	uint64_t done;
	uint64_t shown_ns; /* when it was, or when it began */
	int signals;	   /* of ending.h */
};

/* From here on the signals that would end the process end the work only. */
void progress_begin(struct progress *progress, struct console *con, const char *what,
		    uint64_t total);

/* Both return 0, or -EINTR if it is to end. The second one waits as poll() does. */
int progress_add(void *progress, uint64_t bytes);
int progress_wait(void *progress, int fd, short events);

/* The signals stay blocked: what is half done can be removed in peace. */
void progress_end(struct progress *progress);

#endif
