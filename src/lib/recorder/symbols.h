/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/* Kernel symbols, and kernel code where a trace needs it. A session holds one copy; captures are
 * hard links to it. */
#ifndef LIB_RECORDER_SYMBOLS_H
#define LIB_RECORDER_SYMBOLS_H

#include <stdbool.h>

#include "perfdata.h"

struct symbols {
	int fd;		 /* folder that has the copy; -1: none yet */
	int work_fd;	 /* the session's work folder, the caller's */
	bool prepared;	 /* the copy is made by symbols_prepare(), again too */
	int kcore_error; /* why there is no code; 0: there is, or it was not asked for */
};

void symbols_init(struct symbols *symbols, int work_fd);

/* Copies symbols and code now. Without code kcore_error is set, and it is no failure. */
int symbols_prepare(struct symbols *symbols, int root_fd);

/* Puts them into a perf.data; copies them when there is no copy (any more). */
int symbols_write(struct symbols *symbols, struct perfdata *pd, int root_fd);

void symbols_close(struct symbols *symbols);

#endif
