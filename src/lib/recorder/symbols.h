/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/* Kernel symbols, and kernel code if a trace needs it. A session holds one copy; captures have hard
 * links to it. */
#ifndef LIB_RECORDER_SYMBOLS_H
#define LIB_RECORDER_SYMBOLS_H

#include <stdbool.h>

#include "perfdata.h"

struct symbols {
	int fd;		 /* folder of the copy; -1: none yet */
	int work_fd;	 /* the session's work folder; stays the caller's */
	bool prepared;	 /* symbols_prepare() makes the copy */
	int kcore_error; /* why there is no code; 0: there is, or none is needed */
};

void symbols_init(struct symbols *symbols, int work_fd);

/* Copies symbols and code. Missing code is no failure: sets kcore_error. */
int symbols_prepare(struct symbols *symbols, int root_fd);

/* Links the copy into a perf.data; recreates a missing copy. */
int symbols_write(struct symbols *symbols, struct perfdata *pd, int root_fd);

void symbols_close(struct symbols *symbols);

/* Writes the vDSO, which no file has, to dirfd/buildid, for perf's --buildid-dir. Returns 0 or a
 * negative errno. */
int symbols_write_vdso(int dirfd);

#endif
