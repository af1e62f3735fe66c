/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/* The function of the timers that the trigger looks at. */
#ifndef LIB_OPTIONS_FUNCTION_H
#define LIB_OPTIONS_FUNCTION_H

#include "options/config.h"

/* What timerlat's timers run. */
#define TIMERLAT_FUNCTION "timerlat_irq"

/* As it was named, or what suits the workload; NULL: any. */
const char *function_name(const struct config *config);

/* Its address; 0: any. Says why it cannot be found. */
int function_find(const struct config *config, uint64_t *address);

#endif
