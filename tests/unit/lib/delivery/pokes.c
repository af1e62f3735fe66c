// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
/* The controller's part of a poke. The test replaces the processes, the trigger with its map, and
 * the deliveries at link time. */
#include "delivery/delivery.h"

#include <signal.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/timerfd.h>
#include <unistd.h>

#include <json-c/json.h>

#include "fake_target.h"
#include "messages.h"
#include "trigger/trigger.h"

static struct poke_target map[POKE_TARGETS];
static size_t nr_signals[POKE_TARGETS];
static size_t nr_drops_idle, nr_graces;
static int opened_for[POKE_TARGETS]; /* targets of the last opened delivery */
/* The result of the next look. */
static enum poke_lost found_lost[POKE_TARGETS];
static uint64_t now_ns;
static struct messages messages;
static const struct log log_of_test = { messages_add, &messages };

int __real_timerfd_settime(int fd, int flags, const struct itimerspec *new, struct itimerspec *old);

int __wrap_target_signal(const struct target *target)
{
	nr_signals[target->tid - FIRST_PID]++;
	return 0;
}

volatile struct poke_target *__wrap_trigger_targets(const struct trigger *trigger)
{
	assert_ptr_equal(trigger, map);
	return map;
}

void __wrap_trigger_set_drops_idle(struct trigger *trigger)
{
	assert_ptr_equal(trigger, map);
	nr_drops_idle++;
}

int __wrap_trigger_check_targets(const struct trigger *trigger)
{
	assert_ptr_equal(trigger, map);
	for (size_t i = 0; i < POKE_TARGETS; i++) {
		if (!map[i].lost)
			map[i].lost = found_lost[i];
	}
	return 0;
}

static int works(struct probe_detail *detail)
{
	return 0;
}

static int open_way(struct delivery_state **ret, const struct delivery_config *config,
		    const struct log *log)
{
	*ret = (struct delivery_state *)opened_for;
	memcpy(opened_for, config->tids, config->nr_targets * sizeof(opened_for[0]));
	return 0;
}

static void close_way(struct delivery_state *state)
{
	assert_ptr_equal(state, opened_for);
	memset(opened_for, 0, sizeof(opened_for));
}

static const struct delivery fasync = {
	.choice = { "fasync", PERF_POKE_DELIVERY_FASYNC, "" },
	.automatic = true,
	.probe = { .try = works },
	.open = open_way,
	.close = close_way,
};
const struct delivery *__wrap_delivery_row(size_t i)
{
	return i ? NULL : &fasync;
}

const struct delivery *__wrap_delivery_of_way(enum perf_poke_delivery way)
{
	assert_int_equal(way, PERF_POKE_DELIVERY_FASYNC);
	return &fasync;
}

int __wrap_clock_gettime(clockid_t clock, struct timespec *ts)
{
	assert_int_equal(clock, CLOCK_MONOTONIC);
	*ts = (struct timespec){ now_ns / 1000000000, now_ns % 1000000000 };
	return 0;
}

/* The timer expires at once. */
int __wrap_timerfd_settime(int fd, int flags, const struct itimerspec *new, struct itimerspec *old)
{
	const struct itimerspec now = { .it_value.tv_nsec = 1 };
	int err = __real_timerfd_settime(fd, flags, &now, old);

	assert_int_equal(new->it_value.tv_sec, 0);
	nr_graces++;
	usleep(1000);
	return err;
}

static struct poke *open_poke(size_t nr)
{
	struct perf_poke_target wanted[POKE_TARGETS] = {};
	const struct config config = {
		.opts.targets = wanted,
		.opts.nr_targets = nr,
		.opts.delivery = PERF_POKE_DELIVERY_FASYNC,
	};
	struct poke *poke;

	memset(map, 0, sizeof(map));
	memset(nr_signals, 0, sizeof(nr_signals));
	memset(found_lost, 0, sizeof(found_lost));
	nr_drops_idle = nr_graces = 0;
	messages.nr = 0;
	for (size_t i = 0; i < nr; i++)
		wanted[i].pid = FIRST_PID + i;
	assert_int_equal(poke_open(&poke, &config, &log_of_test), 0);
	assert_int_equal(poke_start(poke, (struct trigger *)map), 0);
	return poke;
}

/* The BPF program's part of a spike. */
static void spike(size_t i, uint64_t sequence, bool idle)
{
	map[i].sequence = sequence;
	map[i].idle = idle;
	map[i].pending_ns = 0;
	map[i].way = idle && nr_drops_idle ? POKE_WAY_NONE : PERF_POKE_DELIVERY_FASYNC;
	map[i].outstanding = POKE_OUTSTANDING(map[i].way);
	if (map[i].way)
		map[i].sent[PERF_POKE_DELIVERY_FASYNC]++;
	else
		map[i].refused[PERF_POKE_DELIVERY_FASYNC]++;
}

static void pass_grace(struct poke *poke)
{
	now_ns += 5000000;
	poke_poll(poke);
}

static void arrive(size_t i)
{
	map[i].pending_ns = 1;
	map[i].outstanding = 0;
}

/* An arrived signal is not sent again. */
TEST(arrives)
{
	struct poke *poke = open_poke(1);

	spike(0, 1, true);
	arrive(0);
	poke_settle(poke, 1, true);
	assert_int_equal(nr_graces, 0);
	pass_grace(poke);
	/* Within the grace. */
	spike(0, 2, true);
	poke_settle(poke, 2, true);
	assert_int_equal(nr_graces, 1);
	arrive(0);
	pass_grace(poke);
	assert_int_equal(nr_signals[0], 0);
	assert_int_equal(map[0].refused[PERF_POKE_DELIVERY_FASYNC], 0);
	assert_int_equal(nr_drops_idle, 0);
	poke_free(poke);
}

/* A signal dropped in idle is relayed after the grace, once; then fasync is no longer tried in
 * idle. A target reached by another delivery says nothing about that. */
TEST(is_dropped_in_idle)
{
	struct poke *poke = open_poke(2);

	spike(0, 1, true);
	spike(1, 1, true);
	map[1].way = PERF_POKE_DELIVERY_TASK_WORK;
	arrive(1);
	poke_settle(poke, 1, true);
	assert_int_equal(nr_signals[0], 0);
	pass_grace(poke);
	assert_int_equal(nr_signals[0], 1);
	assert_int_equal(nr_drops_idle, 1);
	assert_int_equal(map[0].way, PERF_POKE_DELIVERY_RELAY);
	assert_int_equal(messages.nr, 1);
	assert_int_equal(messages.level, PERF_POKE_LOG_INFO);

	spike(0, 2, true);
	poke_settle(poke, 2, true);
	assert_int_equal(nr_signals[0], 2);
	pass_grace(poke);
	assert_int_equal(nr_signals[0], 2);
	assert_int_equal(nr_graces, 1);
	assert_int_equal(nr_drops_idle, 1);
	assert_int_equal(map[0].sent[PERF_POKE_DELIVERY_FASYNC], 1);
	assert_int_equal(map[0].refused[PERF_POKE_DELIVERY_FASYNC], 2);
	assert_int_equal(map[0].sent[PERF_POKE_DELIVERY_RELAY], 2);
	poke_free(poke);
}

/* Lost once while the CPU was busy: no conclusion about idle. */
TEST(is_lost)
{
	struct poke *poke = open_poke(1);

	spike(0, 1, false);
	poke_settle(poke, 1, true);
	pass_grace(poke);
	assert_int_equal(nr_signals[0], 1);
	assert_int_equal(nr_drops_idle, 0);
	poke_free(poke);
}

/* Another target got it, so the kernel does not drop it in idle. */
TEST(is_lost_for_one)
{
	struct poke *poke = open_poke(3);

	for (size_t i = 0; i < 3; i++)
		spike(i, 1, true);
	arrive(1);
	poke_settle(poke, 1, true);
	pass_grace(poke);
	assert_int_equal(nr_signals[0], 1);
	assert_int_equal(nr_signals[1], 0);
	assert_int_equal(nr_signals[2], 1);
	assert_int_equal(nr_drops_idle, 0);
	poke_free(poke);
}

/* Spikes faster than the grace do not postpone it. */
TEST(is_dense)
{
	struct poke *poke = open_poke(1);

	for (uint64_t sequence = 1; sequence <= 3; sequence++) {
		spike(0, sequence, false);
		poke_settle(poke, sequence, true);
	}
	assert_int_equal(nr_graces, 1);
	/* The newest spike is too young; it delays the check only once. */
	now_ns += 999999;
	poke_poll(poke);
	assert_int_equal(nr_signals[0], 0);
	assert_int_equal(nr_graces, 2);
	spike(0, 4, false);
	poke_settle(poke, 4, true);
	assert_int_equal(nr_graces, 2);
	poke_poll(poke);
	assert_int_equal(nr_signals[0], 1);
	/* The next spike has its own grace. */
	spike(0, 5, false);
	poke_settle(poke, 5, true);
	assert_int_equal(nr_graces, 3);
	poke_free(poke);
}

/* Pending checks are made before the session ends. */
TEST(is_lost_at_the_end)
{
	struct poke *poke = open_poke(2);

	spike(0, 1, false);
	spike(1, 1, false);
	poke_settle(poke, 1, true);
	arrive(1);
	poke_finish(poke);
	assert_int_equal(nr_signals[0], 1);
	assert_int_equal(nr_signals[1], 0);
	poke_finish(poke);
	assert_int_equal(nr_signals[0], 1);
	poke_free(poke);
}

/* Another spike's signal does not count for this one. */
TEST(is_not_mistaken)
{
	struct poke *poke = open_poke(1);

	spike(0, 1, true);
	map[0].pending_ns = 1;
	poke_settle(poke, 1, true);
	assert_int_equal(nr_graces, 1);
	poke_finish(poke);
	assert_int_equal(nr_signals[0], 1);
	assert_int_equal(map[0].outstanding, 0);
	poke_free(poke);
}

/* The next spike came before this one was checked, and merged with it. */
TEST(is_overtaken)
{
	struct poke *poke = open_poke(1);

	spike(0, 1, true);
	map[0].way = POKE_WAY_NONE;
	map[0].outstanding = 0;
	poke_settle(poke, 1, true);
	assert_int_equal(nr_signals[0], 0);
	/* Within the grace: the next spike's signal is left to the next spike. */
	spike(0, 2, false);
	poke_settle(poke, 2, true);
	spike(0, 3, true);
	map[0].way = POKE_WAY_NONE;
	map[0].outstanding = POKE_OUTSTANDING(POKE_WAY_NONE);
	pass_grace(poke);
	assert_int_equal(nr_signals[0], 0);
	poke_settle(poke, 3, true);
	assert_int_equal(nr_signals[0], 1);
	poke_free(poke);
}

/* An unsent signal merges with that of a requested capture. */
TEST(is_merged)
{
	struct poke *poke = open_poke(1);

	spike(0, 1, true);
	poke_settle(poke, 2, false);
	assert_int_equal(nr_signals[0], 1);
	assert_int_equal(map[0].merged, 1);
	poke_settle(poke, 3, false);
	assert_int_equal(nr_signals[0], 2);
	assert_int_equal(map[0].merged, 1);
	poke_free(poke);
}

/* Right before relaying, the target is checked: it may have changed since the session began. */
TEST(is_gone)
{
	static const char *const why[] = {
		[POKE_LOST_ENDED] = "target 100 () has ended: no longer poked",
		[POKE_LOST_EXEC] = "target 100 () runs another program now: no longer poked",
		[POKE_LOST_HANDLER] = "target 100 () no longer catches the signal: no longer poked",
	};

	for (enum poke_lost lost = POKE_LOST_ENDED; lost <= POKE_LOST_HANDLER; lost++) {
		struct poke *poke = open_poke(2);

		found_lost[0] = lost;
		for (uint64_t sequence = 1; sequence <= 2; sequence++) {
			poke_settle(poke, sequence, false);
			assert_int_equal(poke_poll(poke), 1);
		}
		assert_int_equal(nr_signals[0], 0);
		assert_int_equal(nr_signals[1], 2);
		assert_int_equal(messages.nr, 1);
		assert_int_equal(messages.level, PERF_POKE_LOG_WARN);
		assert_string_equal(messages.text, why[lost]);
		poke_free(poke);
	}
}

/* What the BPF program noticed is reported at the next poll. */
TEST(is_noticed)
{
	struct poke *poke = open_poke(1);

	assert_int_equal(poke_poll(poke), 1);
	map[0].lost = POKE_LOST_EXEC;
	assert_int_equal(poke_poll(poke), 0);
	assert_int_equal(poke_poll(poke), 0);
	assert_int_equal(messages.nr, 1);
	poke_free(poke);
}

/* A PID that may be reused is not passed to the kernel again. */
TEST(comes_back)
{
	struct poke *poke = open_poke(3);

	map[0].lost = POKE_LOST_ENDED;
	assert_int_equal(poke_poll(poke), 2);
	found_lost[1] = POKE_LOST_ENDED;
	assert_int_equal(poke_cpu_online(poke), 0);
	assert_int_equal(opened_for[0], 0);
	assert_int_equal(opened_for[1], 0);
	assert_int_equal(opened_for[2], FIRST_PID + 2);
	assert_int_equal(poke_poll(poke), 1);
	poke_free(poke);
}

static struct json_object *described(const struct poke *poke, struct json_object *json,
				     const char *field)
{
	struct json_object *targets, *value;

	poke_describe(poke, 1, json);
	assert_true(json_object_object_get_ex(json, "targets", &targets));
	assert_true(
		json_object_object_get_ex(json_object_array_get_idx(targets, 0), field, &value));
	return value;
}

/* A signal from elsewhere that became pending during the spike does not count as its poke. */
TEST(pends_before)
{
	struct json_object *json = json_object_new_object();
	struct poke *poke = open_poke(1);

	spike(0, 1, false);
	map[0].poked_ns = 1000;
	map[0].pending_ns = 999;
	assert_null(described(poke, json, "pending_after_ns"));
	map[0].pending_ns = 1007;
	assert_int_equal(json_object_get_int64(described(poke, json, "pending_after_ns")), 7);
	assert_string_equal(json_object_get_string(described(poke, json, "delivery")), "fasync");
	json_object_put(json);
	poke_free(poke);
}

/* The session does not end before the last signal is sent. */
TEST(finishes)
{
	struct poke *poke = open_poke(1);

	poke_finish(poke);
	spike(0, 1, true);
	poke_settle(poke, 1, true);
	poke_finish(poke);
	assert_int_equal(nr_signals[0], 1);
	poke_finish(poke);
	assert_int_equal(nr_signals[0], 1);
	/* The target has not run the task work yet. */
	spike(0, 2, false);
	map[0].way = PERF_POKE_DELIVERY_TASK_WORK;
	map[0].outstanding |= POKE_OUTSTANDING(PERF_POKE_DELIVERY_TASK_WORK);
	poke_settle(poke, 2, true);
	poke_poll(poke);
	assert_int_equal(nr_signals[0], 1);
	poke_finish(poke);
	assert_int_equal(nr_signals[0], 2);
	assert_int_equal(map[0].merged, 1);
	assert_int_equal(map[0].outstanding, 0);
	poke_free(poke);
}
