// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
#include "delivery/delivery.h"

#include "trigger/trigger.h"

#define NAME "bpf_task_work_schedule_signal"

bool delivery_task_work_impl(void)
{
	return !delivery_has_kfunc(NAME);
}

static int task_work_try(void)
{
	if (!delivery_has_kfunc(NAME) && !delivery_has_kfunc(NAME "_impl"))
		return -EOPNOTSUPP;
	return trigger_try(POKE_WAY_TASK_WORK);
}

const struct delivery delivery_task_work = {
	.name = "task-work",
	.way = POKE_WAY_TASK_WORK,
	.try = task_work_try,
};
