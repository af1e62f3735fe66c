/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/* Kernel symbols, and kernel code if a trace needs it. A session holds one copy; captures have hard
 * links to it. */
#ifndef LIB_RECORDER_SYMBOLS_H
#define LIB_RECORDER_SYMBOLS_H

#include <stdbool.h>

#include "perfdata.h"

struct symbols {
	int fd;		 /* folder with the copy; -1: none yet */
	int work_fd;	 /* the session's work folder; stays the caller's */
	bool prepared;	 /* symbols_prepare() makes the copy */
	int kcore_error; /* why there is no code; 0: there is, or it is not needed */
};

void symbols_init(struct symbols *symbols, int work_fd);

/* Copies symbols and code. If there is no code, sets kcore_error, which is no failure. */
int symbols_prepare(struct symbols *symbols, int root_fd);

/* Links the copy into a perf.data; makes it if there is none (any more). */
int symbols_write(struct symbols *symbols, struct perfdata *pd, int root_fd);

void symbols_close(struct symbols *symbols);

/* Writes the vDSO, which is in no file, to dirfd/buildid, for perf's --buildid-dir. Returns 0 or a
 * negative errno. */
int symbols_write_vdso(int dirfd);

#endif
