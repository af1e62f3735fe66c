// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
#include "delivery/delivery.h"

#include <inttypes.h>
#include <poll.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/random.h>
#include <sys/timerfd.h>

#include "clock.h"
#include "cpulist.h"
#include "json_util.h"
#include "trigger/trigger.h"

/* After this, the controller sends a signal that is not pending. */
#define GRACE_MS 5
#define GRACE_NS (GRACE_MS * 1000000)
/* Younger spikes get more time. */
#define YOUNG_NS 1000000

#define POSSIBLE "/sys/devices/system/cpu/possible"

struct poke {
	const struct log *log;
	const struct delivery *preferred;
	uint32_t ways; /* bits of enum perf_poke_delivery */
	char message[TRIGGER_MESSAGE_SIZE - POKE_CALLED_DIGITS]; /* without the mask of targets */
	char format[TRIGGER_MESSAGE_SIZE];			 /* of the whole message */
	struct delivery_state *states[POKE_WAYS];
	struct trigger *trigger;
	volatile struct poke_target *live; /* map of the trigger */
	struct delivery_config delivery;
	int *possible; /* CPUs; NULL: only watched CPUs run the trigger */
	int epoll_fd, timer_fd;
	uint64_t settling; /* sequence of the spike that the timer is for; 0: timer off */
	uint64_t settling_ns;
	bool put_off;
	size_t nr, nr_ended;
	struct poke_target tasks[POKE_TARGETS];
	int tids[POKE_TARGETS]; /* 0: not signalled any more */
	struct target targets[POKE_TARGETS];
};

static bool poke_has_delivery(const struct poke *poke, enum perf_poke_delivery way)
{
	return poke->ways & 1U << way;
}

/* -- Choosing ways */

static int poke_prefer_delivery(struct poke *poke, const struct delivery *delivery,
				const char *wake)
{
	int err;

	if (delivery->choice.value == PERF_POKE_DELIVERY_TRACEPOINT && !wake)
		return log_error(
			poke->log, -EINVAL,
			"delivery tracepoint: the target must wait on a perf event that wakes "
			"it, as in `-- perf record`: use another, or auto");
	err = delivery->probe.try(NULL);
	if (err)
		return log_error(poke->log, err,
				 "delivery %s: not on this kernel: %s (use another, or auto)",
				 delivery->choice.name, strerror(-err));
	poke->preferred = delivery;
	/* The ways that the trigger tries at the same spike if the preferred one refuses.
	 * `tracepoint` never refuses, and would share the message with fasync. */
	poke->ways |= 1U << delivery->choice.value | 1U << PERF_POKE_DELIVERY_RELAY;
	if (delivery->choice.value == PERF_POKE_DELIVERY_TASK_WORK &&
	    !delivery_of_way(PERF_POKE_DELIVERY_FASYNC)->probe.try(NULL))
		poke->ways |= 1U << PERF_POKE_DELIVERY_FASYNC;
	return 0;
}

static const struct delivery *poke_find_delivery(enum perf_poke_delivery wanted)
{
	const struct delivery *delivery;

	for (size_t i = 0; (delivery = delivery_row(i)); i++) {
		if (wanted ? delivery->choice.value == (int)wanted
			   : delivery->automatic && !delivery->probe.try(NULL))
			return delivery;
	}
	return NULL;
}

/* The nonce keeps other BPF programs from poking. */
static int poke_make_message(struct poke *poke, const char *wake)
{
	uint64_t nonce;

	if (getrandom(&nonce, sizeof(nonce), 0) != sizeof(nonce))
		return -errno;
	snprintf(poke->message, sizeof(poke->message), "pp-%016" PRIx64 "-s", nonce);
	if (wake)
		snprintf(poke->format, sizeof(poke->format), "%s", wake);
	else
		snprintf(poke->format, sizeof(poke->format), "%s%s", poke->message,
			 POKE_CALLED_FORMAT);
	return 0;
}

/* -- Opening */

static int poke_watch_fd(struct poke *poke, int fd, uint64_t what)
{
	struct epoll_event event = { .events = EPOLLIN, .data.u64 = what };

	return epoll_ctl(poke->epoll_fd, EPOLL_CTL_ADD, fd, &event) ? -errno : 0;
}

static int poke_find_cpus(struct poke *poke, const struct config *config)
{
	bool anywhere = false;
	size_t nr;
	int err;

	for (size_t kind = 0; kind < TRIGGER_KINDS; kind++)
		anywhere |= config->thresholds[kind] && trigger_row(kind)->anywhere;
	if (!anywhere)
		return 0;
	err = cpulist_read(POSSIBLE, &poke->possible, &nr);
	if (err)
		return log_error(poke->log, err, "cannot read " POSSIBLE ": %s", strerror(-err));
	poke->delivery.cpus = poke->possible;
	poke->delivery.nr_cpus = nr;
	return 0;
}

static int poke_open_fds(struct poke *poke)
{
	int err;

	poke->epoll_fd = epoll_create1(EPOLL_CLOEXEC);
	poke->timer_fd = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK);
	if (poke->epoll_fd < 0 || poke->timer_fd < 0)
		return -errno;
	err = poke_watch_fd(poke, poke->timer_fd, poke->nr);
	for (size_t i = 0; i < poke->nr && !err; i++)
		err = poke_watch_fd(poke, poke->targets[i].pidfd, i);
	return err;
}

int poke_open(struct poke **ret, const struct config *config, const struct log *log)
{
	struct poke *poke = calloc(1, sizeof(*poke));
	const char *wake = NULL;
	int err = 0;

	if (!poke)
		return -ENOMEM;
	poke->log = log;
	poke->epoll_fd = poke->timer_fd = -1;
	for (size_t i = 0; i < config->opts.nr_targets && !err; i++) {
		const struct perf_poke_target *wanted = &config->opts.targets[i];
		struct target *target = &poke->targets[i];

		err = target_open(target, wanted, log);
		if (err)
			break;
		poke->tasks[i] = target->task;
		poke->tids[i] = target->tid;
		poke->nr++;
		for (size_t j = 0; j < i && !err; j++) {
			if (poke->targets[j].task.tid == target->task.tid)
				err = log_error(log, -EINVAL, "target %d: named twice",
						wanted->pid);
		}
		if (wanted->wake)
			wake = wanted->wake;
	}
	if (!err)
		err = poke_prefer_delivery(poke, poke_find_delivery(config->opts.delivery), wake);
	if (!err)
		err = poke_make_message(
			poke, poke_has_delivery(poke, PERF_POKE_DELIVERY_TRACEPOINT) ? wake : NULL);
	if (!err)
		err = poke_open_fds(poke);
	poke->delivery = (struct delivery_config){
		.targets = poke->tasks,
		.tids = poke->tids,
		.nr_targets = poke->nr,
		.cpus = config->cpus,
		.nr_cpus = config->nr_cpus,
		.message = poke->message,
	};
	if (!err)
		err = poke_find_cpus(poke, config);
	if (err) {
		poke_free(poke);
		return err;
	}
	*ret = poke;
	return 0;
}

void poke_configure(const struct poke *poke, struct trigger_config *config)
{
	config->targets = poke->tasks;
	config->nr_targets = poke->nr;
	config->poke_ways = poke->ways;
	config->poke_message = poke->format;
}

static void poke_close_states(struct poke *poke)
{
	const struct delivery *delivery;

	for (size_t i = 0; (delivery = delivery_row(i)); i++) {
		if (poke->states[delivery->choice.value])
			delivery->close(TAKE_PTR(poke->states[delivery->choice.value]));
	}
}

static int poke_open_states(struct poke *poke)
{
	const struct delivery *delivery;
	int err = 0;

	for (size_t i = 0; !err && (delivery = delivery_row(i)); i++) {
		if (poke_has_delivery(poke, delivery->choice.value) && delivery->open)
			err = delivery->open(&poke->states[delivery->choice.value], &poke->delivery,
					     poke->log);
	}
	return err;
}

static const char *const poke_why[] = {
	[POKE_LOST_ENDED] = "has ended",
	[POKE_LOST_EXEC] = "runs another program now",
	[POKE_LOST_HANDLER] = "no longer catches the signal",
};

static void poke_end_lost(struct poke *poke)
{
	for (size_t i = 0; i < poke->nr; i++) {
		const struct target *target = &poke->targets[i];

		if (!poke->tids[i] || !poke->live[i].lost)
			continue;
		poke->tids[i] = 0;
		poke->nr_ended++;
		epoll_ctl(poke->epoll_fd, EPOLL_CTL_DEL, target->pidfd, NULL);
		log_write(poke->log, PERF_POKE_LOG_WARN, "target %d (%s) %s: no longer poked",
			  target->tid, target->comm, poke_why[poke->live[i].lost]);
	}
}

int poke_start(struct poke *poke, struct trigger *trigger)
{
	int err;

	poke->trigger = trigger;
	poke->live = trigger_targets(trigger);
	err = poke_open_states(poke);
	if (!err)
		err = trigger_check_targets(trigger);
	if (err)
		return err;
	for (size_t i = 0; i < poke->nr; i++) {
		if (poke->live[i].lost)
			return log_error(poke->log, -ESRCH, "target %d: %s", poke->targets[i].tid,
					 poke_why[poke->live[i].lost]);
	}
	return 0;
}

int poke_cpu_online(struct poke *poke)
{
	int err;

	poke_close_states(poke);
	/* The TID of an ended target may be reused. */
	err = trigger_check_targets(poke->trigger);
	poke_end_lost(poke);
	return err ? err : poke_open_states(poke);
}

const char *poke_delivery(const struct poke *poke)
{
	return poke->preferred->choice.name;
}

int poke_fd(const struct poke *poke)
{
	return poke->epoll_fd;
}

/* -- Spikes */

static void poke_relay_signal(struct poke *poke, size_t i, uint64_t sequence)
{
	volatile struct poke_target *live = &poke->live[i];
	int err = trigger_check_targets(poke->trigger);

	poke_end_lost(poke);
	if (err || !poke->tids[i] || live->blocked || target_signal(&poke->targets[i])) {
		__sync_fetch_and_add(&live->refused[PERF_POKE_DELIVERY_RELAY], 1);
		return;
	}
	if (live->sequence == sequence)
		live->way = PERF_POKE_DELIVERY_RELAY;
	__sync_fetch_and_add(&live->sent[PERF_POKE_DELIVERY_RELAY], 1);
}

/* The way used for this spike while its signal is not pending, else NONE. Another spike may come at
 * any time: the program writes the sequence first, so fields read before the sequence do not belong
 * to a later spike. */
static enum perf_poke_delivery poke_open_way(const struct poke *poke, size_t i, uint64_t sequence)
{
	const volatile struct poke_target *live = &poke->live[i];
	enum perf_poke_delivery way = live->way;
	bool outstanding = live->outstanding & POKE_OUTSTANDING(way);

	if ((way != PERF_POKE_DELIVERY_FASYNC && way != PERF_POKE_DELIVERY_TRACEPOINT) ||
	    !outstanding || !poke->tids[i])
		return POKE_WAY_NONE;
	return live->sequence == sequence ? way : POKE_WAY_NONE;
}

static void poke_begin_relayed(volatile struct poke_target *live, uint64_t sequence)
{
	live->way = POKE_WAY_NONE;
	live->pending_ns = 0;
	live->idle = 0;
	live->poked_ns = clock_ns(CLOCK_MONOTONIC);
	live->sequence = sequence;
	poke_merge_outstanding(live);
	__sync_fetch_and_or(&live->outstanding, POKE_OUTSTANDING(POKE_WAY_NONE));
}

static void poke_set_timer(const struct poke *poke, uint64_t ns)
{
	const struct itimerspec grace = { .it_value.tv_nsec = ns };

	timerfd_settime(poke->timer_fd, 0, &grace, NULL);
}

void poke_settle(struct poke *poke, uint64_t sequence, bool tried)
{
	bool open = false;

	poke_end_lost(poke);
	for (size_t i = 0; i < poke->nr; i++) {
		volatile struct poke_target *live = &poke->live[i];

		if (!tried)
			poke_begin_relayed(live, sequence);
		if (live->sequence != sequence || !poke->tids[i])
			continue;
		if (live->way == POKE_WAY_NONE && poke_take_outstanding(live, POKE_WAY_NONE))
			poke_relay_signal(poke, i, sequence);
		open |= poke_open_way(poke, i, sequence) != POKE_WAY_NONE;
	}
	if (!open)
		return;
	/* Later spikes do not restart the timer. */
	if (!poke->settling)
		poke_set_timer(poke, GRACE_NS);
	poke->settling = sequence;
	poke->settling_ns = clock_ns(CLOCK_MONOTONIC);
}

/* Whether the kernel drops perf events in idle, so that all targets missed this spike. It always
 * does, so the trigger need not try. */
static bool poke_is_dropped(const struct poke *poke)
{
	bool dropped = false;

	for (size_t i = 0; i < poke->nr; i++) {
		const volatile struct poke_target *live = &poke->live[i];
		bool lost = live->idle &&
			    live->outstanding & POKE_OUTSTANDING(PERF_POKE_DELIVERY_FASYNC);

		if (live->way != PERF_POKE_DELIVERY_FASYNC || live->sequence != poke->settling ||
		    !poke->tids[i])
			continue;
		if (!lost)
			return false;
		dropped = true;
	}
	return dropped;
}

static void poke_settle_rest(struct poke *poke)
{
	/* At most once, so that frequent spikes cannot postpone it forever. */
	poke->put_off = !poke->put_off && clock_ns(CLOCK_MONOTONIC) - poke->settling_ns < YOUNG_NS;
	if (poke->put_off) {
		poke_set_timer(poke, YOUNG_NS);
		return;
	}
	if (poke_is_dropped(poke)) {
		trigger_set_drops_idle(poke->trigger);
		log_write(poke->log, PERF_POKE_LOG_INFO,
			  "delivery fasync: this kernel drops it while the CPU is idle: spikes in "
			  "idle are relayed");
	}
	for (size_t i = 0; i < poke->nr; i++) {
		volatile struct poke_target *live = &poke->live[i];
		enum perf_poke_delivery way = poke_open_way(poke, i, poke->settling);

		if (way == POKE_WAY_NONE)
			continue;
		/* Clearing the bit takes ownership of the signal. */
		if (!poke_take_outstanding(live, way))
			continue;
		__sync_fetch_and_add(&live->refused[way], 1);
		poke_relay_signal(poke, i, poke->settling);
	}
	poke->settling = 0;
}

size_t poke_poll(struct poke *poke)
{
	struct epoll_event events[POKE_TARGETS + 1];
	int nr = epoll_wait(poke->epoll_fd, events, ARRAY_SIZE(events), 0);
	uint64_t expirations;

	for (int i = 0; i < nr; i++) {
		if (events[i].data.u64 < poke->nr)
			poke->live[events[i].data.u64].lost = POKE_LOST_ENDED;
		else if (read(poke->timer_fd, &expirations, sizeof(expirations)) > 0)
			poke_settle_rest(poke);
	}
	poke_end_lost(poke);
	return poke->nr - poke->nr_ended;
}

void poke_finish(struct poke *poke)
{
	struct pollfd timer = { .events = POLLIN };

	if (!poke || !poke->live)
		return;
	timer.fd = poke->timer_fd;
	/* Repeat if it was postponed or a signal came. */
	for (int i = 0; poke->settling && i < 4; i++) {
		poll(&timer, 1, GRACE_MS);
		poke_poll(poke);
	}
	/* Stopped targets still owe themselves signals. */
	for (size_t i = 0; i < poke->nr; i++) {
		volatile struct poke_target *live = &poke->live[i];
		uint32_t outstanding = __sync_fetch_and_and(&live->outstanding, 0);

		if (!poke->tids[i] || !outstanding)
			continue;
		__sync_fetch_and_add(&live->merged, __builtin_popcount(outstanding) - 1);
		poke_relay_signal(poke, i, live->sequence);
	}
}

static struct json_object *poke_ways_to_json(const __u64 *counts)
{
	struct json_object *json = json_object_new_object();
	const struct delivery *delivery;

	for (size_t i = 0; (delivery = delivery_row(i)); i++) {
		if (counts[delivery->choice.value])
			json_add_u64(json, delivery->choice.name, counts[delivery->choice.value]);
	}
	return json;
}

void poke_describe(const struct poke *poke, uint64_t sequence, struct json_object *capture)
{
	struct json_object *targets = json_object_new_array();

	for (size_t i = 0; i < poke->nr; i++) {
		const volatile struct poke_target *live = &poke->live[i];
		struct poke_target read = *live;
		struct json_object *json = json_object_new_object();
		const struct delivery *way;

		/* The fields are of this spike unless a newer one has begun to replace them: see
		 * poke_signal_target(). */
		__atomic_thread_fence(__ATOMIC_ACQUIRE);
		if (read.sequence != sequence || live->sequence != sequence) {
			read.way = POKE_WAY_NONE;
			read.pending_ns = 0;
		}
		way = delivery_of_way(read.way);
		json_add_int(json, "pid", poke->targets[i].tgid);
		json_add_int(json, "tid", poke->targets[i].tid);
		json_add_text(json, "comm", poke->targets[i].comm);
		json_add_int(json, "signal", poke->tasks[i].signal);
		json_add_text(json, "delivery", way ? way->choice.name : NULL);
		/* Another process may have sent the pending signal just before. */
		json_add(json, "pending_after_ns",
			 read.pending_ns && read.pending_ns >= read.poked_ns
				 ? json_object_new_uint64(read.pending_ns - read.poked_ns)
				 : NULL);
		json_add(json, "sent", poke_ways_to_json(read.sent));
		json_add(json, "refused", poke_ways_to_json(read.refused));
		json_add_u64(json, "merged", read.merged);
		json_object_array_add(targets, json);
	}
	json_add_text(capture, "delivery", poke->preferred->choice.name);
	json_add(capture, "targets", targets);
}

void poke_free(struct poke *poke)
{
	if (!poke)
		return;
	poke_close_states(poke);
	for (size_t i = 0; i < poke->nr; i++)
		target_close(&poke->targets[i]);
	closep(&poke->timer_fd);
	closep(&poke->epoll_fd);
	free(poke->possible);
	free(poke);
}
