// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
/* The target is told by a flag in a map, and signals itself when it next polls its perf events: the
 * program is on the function that does so, which nobody passes who has no perf events. It is woken
 * by one of them, on bpf_trace_printk, which it opened for that. */
#include "delivery/delivery.h"

#include "trigger/trigger.h"

static int tracepoint_try(void)
{
	return trigger_try(POKE_WAY_TRACEPOINT);
}

const struct delivery delivery_tracepoint = {
	.choice = { "tracepoint", PERF_POKE_DELIVERY_TRACEPOINT,
		    "the target signals itself when it polls its events" },
	.way = POKE_WAY_TRACEPOINT,
	.try = tracepoint_try,
};
