/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/* Which threads the trigger watches, and how. */
#ifndef LIB_TRIGGER_THREADS_H
#define LIB_TRIGGER_THREADS_H

#include "options/config.h"
#include "trigger/trigger.h"

/* The workload must be chosen. Logs what is missing: -EOPNOTSUPP, -EINVAL, -ESRCH. */
int threads_configure(const struct config *config, struct trigger_threads *threads);

#endif
