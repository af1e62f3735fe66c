/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/* Privileges of this process. */
#ifndef LIB_BASE_CAPS_H
#define LIB_BASE_CAPS_H

#include <stdbool.h>
#include <stddef.h>

/* Lists the capabilities that a session needs and this process lacks, as "CAP_BPF, CAP_PERFMON".
 * Returns 0 if none is missing, else -EPERM. */
int caps_missing(bool realtime, char *names, size_t size);

/* Whether lockdown=confidentiality is active, which denies kernel memory even to root. False if
 * unknown. */
bool caps_locked_down(void);

#endif
