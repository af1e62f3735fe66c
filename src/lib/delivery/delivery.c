// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
/* The table of ways to a target, and the way fasync: a perf event on bpf_trace_printk for each
 * target on each CPU. The target owns the event, so the kernel signals it when the event overflows.
 * Owners are threads, not TIDs. */
#include "delivery/delivery.h"

#include <fcntl.h>
#include <linux/perf_event.h>
#include <sched.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>

#include "machine/base.h"
#include "trigger/trigger.h"

struct delivery_state {
	size_t nr;
	int fds[];
};

/* Matches messages whose mask has the bit of this target. */
static void fasync_make_filter(char *filter, size_t size, const char *message, size_t target)
{
	static const char *const has_bit[] = { "[13579bdf]", "[2367abef]", "[4567cdef]",
					       "[89abcdef]" };
	size_t after = target / 4;

	snprintf(filter, size, "bpf_string ~ \"%s%.*s%s%.*s\"", message,
		 (int)(POKE_CALLED_DIGITS - 1 - after), "???", has_bit[target % 4], (int)after,
		 "???");
}

static int fasync_open_event(uint64_t id, int cpu, const char *filter)
{
	struct perf_event_attr attr = {
		.size = sizeof(attr),
		.type = PERF_TYPE_TRACEPOINT,
		.config = id,
		.sample_period = 1,
		.wakeup_events = 1,
	};
	_cleanup_close_ int fd =
		syscall(SYS_perf_event_open, &attr, -1, cpu, -1, PERF_FLAG_FD_CLOEXEC);

	if (fd < 0)
		return -errno;
	if (ioctl(fd, PERF_EVENT_IOC_SET_FILTER, filter))
		return -errno;
	return TAKE_FD(fd);
}

void fasync_close(struct delivery_state *state)
{
	for (size_t i = 0; state && i < state->nr; i++)
		close(state->fds[i]);
	free(state);
}

static int fasync_open_target(struct delivery_state *state, const struct delivery_config *config,
			      size_t target, uint64_t id)
{
	struct f_owner_ex owner = { .type = F_OWNER_TID };
	char filter[80];

	fasync_make_filter(filter, sizeof(filter), config->message, target);
	for (size_t i = 0; i < config->nr_cpus; i++) {
		int fd = fasync_open_event(id, config->cpus[i], filter);

		/* The CPU is offline; poke_cpu_online() reopens all. */
		if (fd == -ENODEV)
			continue;
		if (fd < 0)
			return fd;
		state->fds[state->nr++] = fd;
		owner.pid = config->tids[target];
		if (fcntl(fd, F_SETOWN_EX, &owner) ||
		    fcntl(fd, F_SETSIG, config->targets[target].signal) ||
		    fcntl(fd, F_SETFL, O_RDWR | O_ASYNC))
			return -errno;
	}
	return 0;
}

int fasync_open(struct delivery_state **ret, const struct delivery_config *config,
		const struct log *log)
{
	uint64_t id = tracefs_printk_id();
	struct delivery_state *state;
	int err = id ? 0 : -EOPNOTSUPP;

	state = calloc(1, sizeof(*state) +
				  config->nr_targets * config->nr_cpus * sizeof(state->fds[0]));
	if (!state)
		return -ENOMEM;
	evsel_raise_nofile();
	for (size_t i = 0; i < config->nr_targets && !err; i++) {
		if (config->tids[i])
			err = fasync_open_target(state, config, i, id);
		/* A target may have ended since it was checked. F_SETOWN_EX fails then, or gets a
		 * process that reuses the TID; the trigger prints nothing for that one. */
		if (err == -ESRCH)
			err = 0;
	}
	if (err) {
		fasync_close(state);
		return log_error(log, err, "delivery fasync: cannot open perf events: %s",
				 strerror(-err));
	}
	*ret = state;
	return 0;
}

static int fasync_try_event(struct probe_detail *detail)
{
	uint64_t id = tracefs_printk_id();
	_cleanup_close_ int tracefs = id ? -1 : tracefs_open(), fd = -1;
	char filter[80];

	if (!id && tracefs < 0) {
		probe_set_detail(detail, "%s", tracefs_strerror(tracefs));
		return tracefs;
	}
	fasync_make_filter(filter, sizeof(filter), "perf-poke-try", 0);
	fd = id ? fasync_open_event(id, sched_getcpu(), filter) : -EOPNOTSUPP;
	return fd < 0 ? fd : 0;
}

/* -- The table */

static int delivery_try_task_work(struct probe_detail *detail)
{
	if (!kfunc_exists(TRIGGER_TASK_WORK) && !kfunc_exists(TRIGGER_TASK_WORK "_impl"))
		return -EOPNOTSUPP;
	return trigger_try_delivery(PERF_POKE_DELIVERY_TASK_WORK);
}

static int delivery_try_tracepoint(struct probe_detail *detail)
{
	return trigger_try_delivery(PERF_POKE_DELIVERY_TRACEPOINT);
}

static int delivery_try_relay(struct probe_detail *detail)
{
	return 0;
}

static const struct delivery rows[] = {
	{
		.choice = { "task-work", PERF_POKE_DELIVERY_TASK_WORK,
			    "a callback in the context of the target (Linux 6.18)" },
		.automatic = true,
		.probe = { "task_work", "needs Linux 6.18; another delivery is used instead", false,
			   delivery_try_task_work },
	},
	{
		.choice = { "fasync", PERF_POKE_DELIVERY_FASYNC,
			    "the target owns a perf event that overflows" },
		.automatic = true,
		.open = fasync_open,
		.close = fasync_close,
		.probe = { "fasync",
			   "needs tracefs and CONFIG_BPF_EVENTS; another delivery is used instead",
			   false, fasync_try_event },
	},
	/* The program is attached to perf_poll(), which only tasks with perf events run. The target
	 * waits on a perf event on bpf_trace_printk, which wakes it. It finds its flag in a map and
	 * signals itself. */
	{
		.choice = { "tracepoint", PERF_POKE_DELIVERY_TRACEPOINT,
			    "the target signals itself when it polls its events" },
		.probe = { "tracepoint",
			   "needs function trampolines (CONFIG_DYNAMIC_FTRACE); another delivery "
			   "is used instead",
			   false, delivery_try_tracepoint },
	},
	/* pokes.c sends it to targets that no other way has reached. */
	{
		.choice = { "relay", PERF_POKE_DELIVERY_RELAY,
			    "perf-poke sends it after waking up" },
		.automatic = true,
		.probe = { .try = delivery_try_relay },
	},
};

const struct delivery *delivery_row(size_t i)
{
	return i < ARRAY_SIZE(rows) ? &rows[i] : NULL;
}

const struct delivery *delivery_of_way(enum perf_poke_delivery way)
{
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		if (rows[i].choice.value == (int)way)
			return &rows[i];
	}
	return NULL;
}
