/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/* The timer function that the trigger filters by. */
#ifndef LIB_OPTIONS_FUNCTION_H
#define LIB_OPTIONS_FUNCTION_H

#include "options/config.h"

/* The function of timerlat's timers. */
#define TIMERLAT_FUNCTION "timerlat_irq"

/* The function of the options, or the workload's default; NULL: any. */
const char *function_name(const struct config *config);

/* Its address; 0: any. Logs why it cannot be found. */
int function_find(const struct config *config, uint64_t *address);

#endif
