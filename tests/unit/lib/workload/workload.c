// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
#include "workload/workload.h"

#include <string.h>

#include <sched.h>

#include "messages.h"
#include "test.h"

static void refuses(struct config config, const char *message)
{
	struct messages messages = {};

	config.log = (struct log){ messages_add, &messages };
	assert_int_equal(workload_check(&config), -EINVAL);
	assert_string_equal(messages.text, message);
	assert_int_equal(messages.nr, 1);
}

TEST(refuses_what_does_not_suit)
{
	const struct config good = { .workload = PERF_POKE_WORKLOAD_USER, .period_ns = 100000 };

	const struct config fifo = { .workload = PERF_POKE_WORKLOAD_CYCLIC,
				     .sched = { .size = 1, .policy = SCHED_FIFO } };

	assert_int_equal(workload_check(&good), 0);
	assert_int_equal(workload_check(&fifo), 0);
	refuses((struct config){ .workload = PERF_POKE_WORKLOAD_TIMERLAT, .period_ns = 99999 },
		"period 99999 ns: must be 100us to 1s with the workload timerlat");
	refuses((struct config){ .workload = PERF_POKE_WORKLOAD_CYCLIC,
				 .sched = { .size = 1, .policy = SCHED_RR } },
		"scheduler: the workload cyclic takes f:PRIORITY only");
	refuses((struct config){ .workload = PERF_POKE_WORKLOAD_USER + 1 }, "workload 5: unknown");
	refuses((struct config){ .workload = -1 }, "workload -1: unknown");
}

TEST(leaves_auto_for_later)
{
	const struct config config = { .period_ns = 10000 };

	assert_int_equal(workload_check(&config), 0);
	assert_string_equal(workload_name(PERF_POKE_WORKLOAD_AUTO), "auto");
	assert_string_equal(workload_name(PERF_POKE_WORKLOAD_USER), "user");
}
