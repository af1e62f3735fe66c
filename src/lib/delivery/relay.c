// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
/* The controller signals the target itself, once it has been told of the spike: for what no other
 * way reached. See delivery/poke.c. */
#include "delivery/delivery.h"

static int relay_try(void)
{
	return 0;
}

const struct delivery delivery_relay = {
	.choice = { "relay", PERF_POKE_DELIVERY_RELAY,
		    "the process that runs the session sends it" },
	.automatic = true,
	.way = POKE_WAY_RELAY,
	.try = relay_try,
};
