/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/* Which threads the trigger watches, and how it can. */
#ifndef LIB_THREADS_H
#define LIB_THREADS_H

#include "config.h"
#include "trigger.h"

/* Once the workload is chosen. Says what is missing: -EOPNOTSUPP, -EINVAL, -ESRCH. */
int threads_configure(const struct config *config, struct trigger_threads *threads);

#endif
