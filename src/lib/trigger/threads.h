/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/* The triggers thread, user and wakeup: see struct trigger_row. */
#ifndef LIB_TRIGGER_THREADS_H
#define LIB_TRIGGER_THREADS_H

#include "options/config.h"
#include "trigger/trigger.h"

/* Determines which threads to watch, and how. The workload must be chosen. Logs what is missing:
 * -EOPNOTSUPP, -EINVAL, -ESRCH. */
int threads_configure(const struct config *config, struct trigger_threads *threads);

int threads_load(struct trigger *trigger, const struct trigger_config *config,
		 const struct log *log);
int wakeup_check(struct config *config);
int wakeup_load(struct trigger *trigger, const struct trigger_config *config,
		const struct log *log);

#endif
