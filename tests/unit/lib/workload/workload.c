// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
#include "workload/workload.h"

#include <errno.h>
#include <fcntl.h>

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
	const struct config good = { .workload = PERF_POKE_WORKLOAD_USER,
				     .opts.period_ns = 100000 };

	const struct config fifo = { .workload = PERF_POKE_WORKLOAD_CYCLIC,
				     .sched = { .size = 1, .policy = SCHED_FIFO } };

	assert_int_equal(workload_check(&good), 0);
	assert_int_equal(workload_check(&fifo), 0);
	refuses((struct config){ .workload = PERF_POKE_WORKLOAD_TIMERLAT, .opts.period_ns = 99999 },
		"period 99999 ns: must be 100us to 1s with the workload timerlat");
	refuses((struct config){ .workload = PERF_POKE_WORKLOAD_CYCLIC,
				 .sched = { .size = 1, .policy = SCHED_RR } },
		"scheduler: the workload cyclic takes f:PRIORITY only");
}

TEST(leaves_auto_for_later)
{
	const struct config config = { .opts.period_ns = 10000 };

	assert_int_equal(workload_check(&config), 0);
	assert_string_equal(workload_name(PERF_POKE_WORKLOAD_AUTO), "auto");
	assert_string_equal(workload_name(PERF_POKE_WORKLOAD_USER), "user");
}

#define CYCLIC PERF_POKE_WORKLOAD_CYCLIC
#define TIMERLAT PERF_POKE_WORKLOAD_TIMERLAT

static struct machine {
	enum timerlat_state state;
	bool others, covers, hides;
	/* The session. */
	const char *function;
	uint64_t period_ns;
	enum perf_poke_workload chosen;
	unsigned int said;
} machine;

/* No journal is left. */
int __wrap_access(const char *path, int mode)
{
	return -1;
}

int __wrap_tracefs_open(void)
{
	return open("/dev/null", O_RDONLY | O_CLOEXEC);
}

enum timerlat_state __wrap_timerlat_state(int tracefs)
{
	return machine.state;
}

bool __wrap_timerlat_others_run(int tracefs)
{
	return machine.others;
}

bool __wrap_timerlat_covers(int tracefs, const int *cpus, size_t nr)
{
	return machine.covers;
}

int __wrap_kallsyms_check(void)
{
	return machine.hides ? -EPERM : 0;
}

TEST(chooses)
{
	static char any[] = "any", irq[] = "timerlat_irq", other[] = "hrtimer_wakeup";
	static const struct machine machines[] = {
		{ TIMERLAT_MISSING, .period_ns = 1000000, .chosen = CYCLIC },
		{ TIMERLAT_IDLE, .period_ns = 1000000, .chosen = TIMERLAT },
		{ TIMERLAT_IDLE, .period_ns = 100000, .chosen = TIMERLAT },
		{ TIMERLAT_IDLE, .period_ns = 99999, .chosen = CYCLIC },
		{ TIMERLAT_IDLE, .function = any, .period_ns = 1000000, .chosen = TIMERLAT },
		{ TIMERLAT_IDLE, .function = irq, .period_ns = 1000000, .chosen = TIMERLAT },
		{ TIMERLAT_IDLE, .function = other, .period_ns = 1000000, .chosen = CYCLIC },
		{ TIMERLAT_IDLE, .hides = true, .period_ns = 1000000, .chosen = CYCLIC, .said = 1 },
		{ TIMERLAT_MISSING, .hides = true, .period_ns = 1000000, .chosen = CYCLIC },
		{ TIMERLAT_RUNS, .period_ns = 1000000, .chosen = CYCLIC },
		{ TIMERLAT_RUNS, true, true, .period_ns = 1000000, .chosen = TIMERLAT },
		{ TIMERLAT_RUNS, true, false, .period_ns = 1000000, .chosen = CYCLIC, .said = 1 },
	};

	for (size_t i = 0; i < sizeof(machines) / sizeof(*machines); i++) {
		struct messages messages = {};
		struct config config = {
			.has_timers = true,
			.opts.function = machines[i].function,
			.opts.period_ns = machines[i].period_ns,
			.log = { messages_add, &messages },
		};

		machine = machines[i];
		workload_choose(&config);
		assert_int_equal(config.workload, machine.chosen);
		assert_int_equal(messages.nr, machine.said);
		/* A session that is started again looks again. */
		machine = (struct machine){ TIMERLAT_MISSING };
		workload_choose(&config);
		assert_int_equal(config.workload, CYCLIC);
		config = (struct config){ .log = config.log };
		workload_choose(&config);
		assert_int_equal(config.workload, PERF_POKE_WORKLOAD_NONE);
		config.opts.workload = PERF_POKE_WORKLOAD_USER;
		workload_choose(&config);
		assert_int_equal(config.workload, PERF_POKE_WORKLOAD_USER);
	}
}
