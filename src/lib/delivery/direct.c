// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
#include "delivery/delivery.h"

#include "base/kfunc.h"
#include "trigger/trigger.h"

static int direct_try(void)
{
	if (!kfunc_exists("bpf_send_signal_task"))
		return -EOPNOTSUPP;
	return trigger_try(POKE_WAY_DIRECT);
}

const struct delivery delivery_direct = {
	.choice = { "direct", PERF_POKE_DELIVERY_DIRECT,
		    "from the interrupted task, never from idle (Linux 6.13)" },
	.way = POKE_WAY_DIRECT,
	.try = direct_try,
};
