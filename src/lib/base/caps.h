/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/* The privileges of this process. */
#ifndef LIB_BASE_CAPS_H
#define LIB_BASE_CAPS_H

#include <stdbool.h>
#include <stddef.h>

/* The names of those that a session needs and this process has not, as "CAP_BPF, CAP_PERFMON"; 0 if
 * none is missing, -EPERM if some are. */
int caps_missing(bool realtime, char *names, size_t size);

/* Whether the kernel is locked down so far that nobody may read its memory, root neither; false
 * where that cannot be told. */
bool caps_locked_down(void);

#endif
