// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
/* The controller signals the target itself, once it has been told of the spike: for what no other
 * way reached. See delivery/poke.c. */
#include "delivery/delivery.h"

static int relay_try(void)
{
	return 0;
}

const struct delivery delivery_relay = {
	.name = "relay",
	.way = POKE_WAY_RELAY,
	.try = relay_try,
};
