// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
#include "delivery/delivery.h"

#include "base/kfunc.h"
#include "trigger/trigger.h"

static int task_work_try(void)
{
	if (!kfunc_exists(TRIGGER_TASK_WORK) && !kfunc_exists(TRIGGER_TASK_WORK "_impl"))
		return -EOPNOTSUPP;
	return trigger_try(POKE_WAY_TASK_WORK);
}

const struct delivery delivery_task_work = {
	.choice = { "task-work", PERF_POKE_DELIVERY_TASK_WORK,
		    "a callback in the context of the target (Linux 6.18)" },
	.automatic = true,
	.way = POKE_WAY_TASK_WORK,
	.try = task_work_try,
};
