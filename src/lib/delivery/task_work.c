// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
#include "delivery.h"

#include "trigger.h"

bool delivery_task_work_impl(void)
{
	return delivery_has_kfunc("bpf_task_work_schedule_signal_impl");
}

static int task_work_try(void)
{
	if (!delivery_task_work_impl() && !delivery_has_kfunc("bpf_task_work_schedule_signal"))
		return -EOPNOTSUPP;
	return trigger_try(POKE_WAY_TASK_WORK);
}

const struct delivery delivery_task_work = {
	.name = "task-work",
	.way = POKE_WAY_TASK_WORK,
	.try = task_work_try,
};
