// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
#include "delivery/delivery.h"

#include "trigger/trigger.h"

static int direct_try(void)
{
	if (!delivery_has_kfunc("bpf_send_signal_task"))
		return -EOPNOTSUPP;
	return trigger_try(POKE_WAY_DIRECT);
}

const struct delivery delivery_direct = {
	.name = "direct",
	.way = POKE_WAY_DIRECT,
	.try = direct_try,
};
