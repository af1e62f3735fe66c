/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/* Clocks that jump: the machine was suspended, or somebody set the time. A session goes by
 * CLOCK_MONOTONIC, which does neither, but its user should know. */
#ifndef LIB_BASE_CLOCKS_H
#define LIB_BASE_CLOCKS_H

#include <stdint.h>

#include "base/log.h"

struct clocks {
	int fd;		    /* readable after a jump; -1: there is none */
	int64_t suspend_ns; /* CLOCK_BOOTTIME - CLOCK_MONOTONIC */
	int64_t wall_ns;    /* CLOCK_REALTIME - CLOCK_MONOTONIC */
};

/* Without it a session is as good, so this cannot fail. */
void clocks_open(struct clocks *clocks);
void clocks_close(struct clocks *clocks);

/* Says by how much they jumped, if they did. */
void clocks_read(struct clocks *clocks, const struct log *log);

#endif
