// SPDX-License-Identifier: GPL-2.0-only
/* A spike signals each target once, by any delivery: the BPF program with the library's controller
 * and perf events. */
#include "fake_kernel.h"

static struct poke *open_poke(enum perf_poke_delivery delivery)
{
	static const int cpus[] = { CPU, CPU + 1 };
	struct perf_poke_target wanted[TARGETS] = {};
	const struct config config = {
		.opts.targets = wanted,
		.opts.nr_targets = TARGETS,
		.opts.delivery = delivery,
		.cpus = (int *)cpus + !watched,
		.nr_cpus = ARRAY_SIZE(cpus) - !watched,
		.thresholds = { [PERF_POKE_TRIGGER_THREAD] = !watched },
	};
	static const struct log log;
	struct trigger_config program = {};
	struct poke *poke;

	memset(map, 0, sizeof(map));
	memset(nr_signals, 0, sizeof(nr_signals));
	nr_printed = drops_idle = 0;
	now_ns = 1000000000;
	for (size_t i = 0; i < TARGETS; i++) {
		sighands[i].action[SIGUSR2 - 1].sa.sa_handler = HANDLER;
		wanted[i].pid = FIRST_PID + i;
		tasks[i] = (struct task_struct){ .pid = FIRST_PID + i, .sighand = &sighands[i] };
	}
	wanted[0].wake = delivery == PERF_POKE_DELIVERY_TRACEPOINT ? "pp-wake" : NULL;
	assert_int_equal(poke_open(&poke, &config, &log), 0);
	poke_configure(poke, &program);
	poke_ways = program.poke_ways;
	assert_true(strlen(program.poke_message) < sizeof(poke_message));
	snprintf((char *)poke_message, sizeof(poke_message), "%s", program.poke_message);
	for (size_t i = 0; i < program.nr_targets; i++) {
		map[i] = program.targets[i];
		map[i].task = (uintptr_t)&tasks[i];
	}
	assert_int_equal(poke_start(poke, NULL), 0);
	return poke;
}

static void spike(struct poke *poke, uint64_t sequence, struct task_struct *interrupted)
{
	current = interrupted;
	poke_targets(sequence);
	for (size_t i = 0; i < TARGETS; i++) {
		if (!(refuses[i] & 1U << PERF_POKE_DELIVERY_TRACEPOINT))
			poll_events(i);
	}
	poke_settle(poke, sequence, true);
	poke_finish(poke);
	for (size_t i = 0; i < TARGETS; i++)
		poll_events(i);
}

static uint64_t sum(const __u64 *counts)
{
	uint64_t all = 0;

	for (size_t way = 0; way < POKE_WAYS; way++)
		all += counts[way];
	return all;
}

/* nr: number of spikes */
static void check_target(size_t i, unsigned int nr)
{
	const struct poke_target *target = &map[i];
	uint64_t lost = 0;

	/* Signals that were sent and lost. Deliveries that were not tried are also refused. */
	if (target->sent[PERF_POKE_DELIVERY_TRACEPOINT])
		lost += target->refused[PERF_POKE_DELIVERY_TRACEPOINT];
	if (target->sent[PERF_POKE_DELIVERY_FASYNC])
		lost += target->refused[PERF_POKE_DELIVERY_FASYNC];
	assert_int_equal(nr_signals[i], nr);
	assert_int_equal(target->pending, nr);
	assert_int_equal(target->merged, 0);
	assert_int_equal(sum(target->sent) - lost, nr);
	assert_int_equal(target->refused[PERF_POKE_DELIVERY_RELAY], 0);
}

static const enum perf_poke_delivery wanted_deliveries[] = {
	PERF_POKE_DELIVERY_AUTO,       PERF_POKE_DELIVERY_TASK_WORK, PERF_POKE_DELIVERY_FASYNC,
	PERF_POKE_DELIVERY_TRACEPOINT, PERF_POKE_DELIVERY_RELAY,
};

/* All combinations of refusals of the three: FASYNC, and TASK_WORK or TRACEPOINT. */
TEST(each_is_signalled_once)
{
	static struct task_struct busy = { .pid = 99 };
	static const uint32_t middle[] = { 1U << PERF_POKE_DELIVERY_TASK_WORK,
					   1U << PERF_POKE_DELIVERY_TRACEPOINT };

	for (unsigned int n = 0; n < ARRAY_SIZE(wanted_deliveries) * 2 << 6; n++) {
		enum perf_poke_delivery delivery = wanted_deliveries[n >> 7];
		bool idle = n >> 6 & 1;
		struct poke *poke = open_poke(delivery);

		for (size_t i = 0; i < TARGETS; i++) {
			uint32_t bits = n >> (2 * i);

			refuses[i] = (bits & 1) << PERF_POKE_DELIVERY_FASYNC;
			if (bits & 2)
				refuses[i] |= middle[delivery == PERF_POKE_DELIVERY_TRACEPOINT];
		}
		spike(poke, 1, idle ? &idle_task : &busy);
		assert_true(nr_printed <= 1);
		for (size_t i = 0; i < TARGETS; i++)
			check_target(i, 1);
		poke_free(poke);
	}
}

static void end_task(struct task_struct *task)
{
	task->sighand = NULL;
}

static void reuse_task(struct task_struct *task)
{
	task->start_boottime++;
}

static void begin_exec(struct task_struct *task)
{
	task->in_execve = 1;
}

static void exec_task(struct task_struct *task)
{
	task->self_exec_id++;
}

static void reset_handler(struct task_struct *task)
{
	task->sighand->action[SIGUSR2 - 1].sa.sa_handler = (uintptr_t)SIG_DFL;
}

static void ignore_signal(struct task_struct *task)
{
	task->sighand->action[SIGUSR2 - 1].sa.sa_handler = (uintptr_t)SIG_IGN;
}

static const struct {
	void (*change)(struct task_struct *task);
	enum poke_lost lost;
} changes[] = {
	{ end_task, POKE_LOST_ENDED },	      { reuse_task, POKE_LOST_ENDED },
	{ begin_exec, POKE_LOST_EXEC },	      { exec_task, POKE_LOST_EXEC },
	{ reset_handler, POKE_LOST_HANDLER }, { ignore_signal, POKE_LOST_HANDLER },
};

/* A wrong process, or one that the signal would end, gets it by no delivery; the others still do.
 */
TEST(stranger_is_left_alone)
{
	static struct task_struct busy = { .pid = 99 };

	for (unsigned int n = 0; n < ARRAY_SIZE(wanted_deliveries) * ARRAY_SIZE(changes) * 4; n++) {
		size_t change = n / 4 % ARRAY_SIZE(changes);
		struct poke *poke = open_poke(wanted_deliveries[n / 4 / ARRAY_SIZE(changes)]);

		refuses[0] = refuses[2] = 0;
		refuses[1] = (n & 1) << PERF_POKE_DELIVERY_FASYNC |
			     (n >> 1 & 1) << PERF_POKE_DELIVERY_TASK_WORK;
		spike(poke, 1, &busy);
		changes[change].change(&tasks[1]);
		spike(poke, 2, &busy);
		assert_int_equal(map[1].lost, changes[change].lost);
		assert_int_equal(nr_signals[1], 1);
		check_target(0, 2);
		check_target(2, 2);
		poke_free(poke);
	}
}

/* It gets none by any delivery while it blocks the signal, and again once it does not. */
TEST(blocked_signal_is_not_sent)
{
	static struct task_struct busy = { .pid = 99 };

	for (size_t n = 0; n < ARRAY_SIZE(wanted_deliveries); n++) {
		struct poke *poke = open_poke(wanted_deliveries[n]);

		memset(refuses, 0, sizeof(refuses));
		tasks[1].blocked.sig[0] = 1UL << (SIGUSR2 - 1);
		spike(poke, 1, &busy);
		assert_int_equal(nr_signals[1], 0);
		assert_int_equal(map[1].lost, POKE_NOT_LOST);
		assert_int_equal(sum(map[1].sent), 0);
		assert_int_equal(map[1].refused[PERF_POKE_DELIVERY_RELAY], 1);
		tasks[1].blocked.sig[0] = 1UL << (SIGUSR1 - 1);
		spike(poke, 2, &busy);
		assert_int_equal(nr_signals[1], 1);
		check_target(0, 2);
		check_target(2, 2);
		poke_free(poke);
	}
}

/* The target blocks it between the spike and its own work; the controller comes later. */
TEST(signal_is_blocked_late)
{
	static const enum perf_poke_delivery own[] = { PERF_POKE_DELIVERY_TASK_WORK,
						       PERF_POKE_DELIVERY_TRACEPOINT };

	for (size_t n = 0; n < ARRAY_SIZE(own); n++) {
		struct poke *poke = open_poke(own[n]);

		memset(refuses, 0, sizeof(refuses));
		current = &tasks[1];
		map[1].outstanding = POKE_OUTSTANDING(own[n]);
		tasks[1].blocked.sig[0] = 1UL << (SIGUSR2 - 1);
		poke_signal_self(&map[1], own[n]);
		assert_int_equal(nr_signals[1], 0);
		assert_int_equal(map[1].refused[own[n]], 1);
		tasks[1].blocked.sig[0] = 0;
		poke_finish(poke);
		assert_int_equal(nr_signals[1], 1);
		assert_int_equal(map[1].sent[PERF_POKE_DELIVERY_RELAY], 1);
		poke_free(poke);
	}
}

/* Between the spike and the work that it left to the target or to the controller. */
TEST(stranger_is_noticed_late)
{
	for (size_t change = 0; change < ARRAY_SIZE(changes); change++) {
		struct poke *poke = open_poke(PERF_POKE_DELIVERY_TRACEPOINT);

		memset(refuses, 0, sizeof(refuses));
		current = &idle_task;
		poke_targets(1);
		poke_settle(poke, 1, true);
		for (size_t i = 0; i < 2; i++)
			changes[change].change(&tasks[i]);
		poll_events(0);
		poke_finish(poke);
		for (size_t i = 0; i < TARGETS; i++)
			assert_int_equal(nr_signals[i], i == 2);
		poke_free(poke);
	}
}

/* A migrated thread: its spike is detected on an unwatched CPU. */
TEST(unwatched_is_reached)
{
	static const struct {
		enum perf_poke_delivery delivery;
		enum perf_poke_delivery way;
	} rows[] = {
		{ PERF_POKE_DELIVERY_TASK_WORK, PERF_POKE_DELIVERY_TASK_WORK },
		{ PERF_POKE_DELIVERY_FASYNC, PERF_POKE_DELIVERY_FASYNC },
		{ PERF_POKE_DELIVERY_TRACEPOINT, PERF_POKE_DELIVERY_RELAY },
	};

	memset(refuses, 0, sizeof(refuses));
	watched = false;
	for (size_t row = 0; row < ARRAY_SIZE(rows); row++) {
		struct poke *poke = open_poke(rows[row].delivery);

		spike(poke, 1, &idle_task);
		for (size_t i = 0; i < TARGETS; i++) {
			check_target(i, 1);
			assert_int_equal(map[i].way, rows[row].way);
		}
		poke_free(poke);
	}
	watched = true;
}

/* The delivery used for a target that accepts the first one, the second one, and so on. */
TEST(next_way_is_taken)
{
	static struct task_struct busy = { .pid = 99 };
	struct poke *poke = open_poke(PERF_POKE_DELIVERY_TASK_WORK);

	refuses[0] = 0;
	refuses[1] = 1U << PERF_POKE_DELIVERY_TASK_WORK;
	refuses[2] = 1U << PERF_POKE_DELIVERY_TASK_WORK | 1U << PERF_POKE_DELIVERY_FASYNC;
	for (uint64_t sequence = 1; sequence <= 3; sequence++)
		spike(poke, sequence, &busy);
	assert_int_equal(nr_printed, 3);
	for (size_t i = 0; i < TARGETS; i++)
		check_target(i, 3);
	assert_int_equal(map[0].sent[PERF_POKE_DELIVERY_TASK_WORK], 3);
	assert_int_equal(map[1].sent[PERF_POKE_DELIVERY_FASYNC], 3);
	assert_int_equal(map[1].refused[PERF_POKE_DELIVERY_TASK_WORK], 3);
	assert_int_equal(map[2].sent[PERF_POKE_DELIVERY_RELAY], 3);
	assert_int_equal(map[2].refused[PERF_POKE_DELIVERY_TASK_WORK], 3);
	poke_free(poke);
}

/* If a target polls after two spikes it gets one signal, and the other one counts as merged. */
TEST(owed_twice)
{
	struct poke *poke = open_poke(PERF_POKE_DELIVERY_TRACEPOINT);

	memset(refuses, 0, sizeof(refuses));
	current = &idle_task;
	poke_targets(1);
	poke_settle(poke, 1, true);
	poke_targets(2);
	poke_settle(poke, 2, true);
	poll_events(0);
	poke_finish(poke);
	for (size_t i = 0; i < TARGETS; i++)
		poll_events(i);
	for (size_t i = 0; i < TARGETS; i++) {
		assert_int_equal(nr_signals[i], 1);
		assert_int_equal(map[i].sent[PERF_POKE_DELIVERY_TRACEPOINT], 2);
		assert_int_equal(map[i].merged, 1);
		assert_int_equal(map[i].sent[PERF_POKE_DELIVERY_RELAY], i > 0);
	}
	poke_free(poke);
}

/* A bit for each target, also of sixteen. */
TEST(filters_differ)
{
	static const int cpu = CPU;
	struct poke_target all[POKE_TARGETS] = {};
	int tids[POKE_TARGETS];
	const struct delivery_config config = {
		.targets = all,
		.tids = tids,
		.nr_targets = POKE_TARGETS,
		.cpus = &cpu,
		.nr_cpus = 1,
		.message = "pp-all",
	};
	static const struct log log;
	struct delivery_state *opened;

	for (int i = 0; i < POKE_TARGETS; i++)
		tids[i] = FIRST_PID + i;
	assert_int_equal(fasync_open(&opened, &config, &log), 0);
	for (uint32_t called = 0; called < 1U << POKE_TARGETS; called += 1 + called / 3) {
		uint32_t found = 0;
		char text[64];

		snprintf(text, sizeof(text), "pp-all" POKE_CALLED_FORMAT, called);
		for (size_t fd = 0; fd < ARRAY_SIZE(events); fd++) {
			if (events[fd].tid && !fnmatch(events[fd].filter, text, 0))
				found |= 1U << (events[fd].tid - FIRST_PID);
		}
		assert_int_equal(found, called);
	}
	fasync_close(opened);
}
