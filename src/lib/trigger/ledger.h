/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/* Reads the ledger of the trigger interruption. */
#ifndef LIB_LEDGER_H
#define LIB_LEDGER_H

#include <stdbool.h>
#include <stddef.h>

#include "perf_poke.h"

/* All sources that were counted, by CPU, what took most time first. functions: those that are
 * functions too, and stacks, which reads all of /proc/kallsyms. The caller frees them, after a
 * failure too. Returns 0 or -ENOMEM. */
int ledger_read(int map_fd, bool functions, struct perf_poke_source **sources, size_t *nr);

#endif
