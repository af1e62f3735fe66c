/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/* The kernel's symbols in a capture: the same for all captures of a session, so the first has them
 * written and later ones link to them. */
#ifndef LIB_SYMBOLS_H
#define LIB_SYMBOLS_H

#include "perfdata.h"

/* fd: a perf.data folder that has the symbols; -1 at first, owned by who holds it. */
int symbols_write(int *fd, struct perfdata *pd, int root_fd);

#endif
