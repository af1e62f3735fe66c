// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
/* A perf event on bpf_trace_printk for each target on each CPU. The target owns the event, so the
 * kernel signals it when the event overflows. Owners are threads, not TIDs. */
#include "delivery/delivery.h"

#include <fcntl.h>
#include <linux/perf_event.h>
#include <sched.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>

#include "machine/base.h"
#include "machine/evsel.h"

struct delivery_state {
	size_t nr;
	int fds[];
};

/* Matches messages whose mask has the bit of this target. */
static void make_filter(char *filter, size_t size, const char *message, size_t target)
{
	static const char *const has_bit[] = { "[13579bdf]", "[2367abef]", "[4567cdef]",
					       "[89abcdef]" };
	size_t after = target / 4;

	snprintf(filter, size, "bpf_string ~ \"%s%.*s%s%.*s\"", message,
		 (int)(POKE_CALLED_DIGITS - 1 - after), "???", has_bit[target % 4], (int)after,
		 "???");
}

static int open_event(uint64_t id, int cpu, const char *filter)
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

static int set_owner(int fd, int tid, int signal)
{
	const struct f_owner_ex owner = { F_OWNER_TID, tid };

	if (fcntl(fd, F_SETOWN_EX, &owner) || fcntl(fd, F_SETSIG, signal) ||
	    fcntl(fd, F_SETFL, O_RDWR | O_ASYNC))
		return -errno;
	return 0;
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
	char filter[80];

	make_filter(filter, sizeof(filter), config->message, target);
	for (size_t i = 0; i < config->nr_cpus; i++) {
		int fd = open_event(id, config->cpus[i], filter);
		int err;

		/* The CPU is offline; poke_cpu_online() reopens all. */
		if (fd == -ENODEV)
			continue;
		if (fd < 0)
			return fd;
		state->fds[state->nr++] = fd;
		err = set_owner(fd, config->tids[target], config->targets[target].signal);
		if (err)
			return err;
	}
	return 0;
}

/* A target may have ended since it was checked. F_SETOWN_EX fails then, or gets a process that
 * reuses the TID; the trigger prints nothing for that one. */
static int fasync_open_all(struct delivery_state *state, const struct delivery_config *config)
{
	uint64_t id = tracefs_printk_id();
	int err = id ? 0 : -EOPNOTSUPP;

	for (size_t i = 0; i < config->nr_targets && !err; i++) {
		if (config->tids[i])
			err = fasync_open_target(state, config, i, id);
		if (err == -ESRCH)
			err = 0;
	}
	return err;
}

int fasync_open(struct delivery_state **ret, const struct delivery_config *config,
		const struct log *log)
{
	struct delivery_state *state;
	int err;

	state = calloc(1, sizeof(*state) +
				  config->nr_targets * config->nr_cpus * sizeof(state->fds[0]));
	if (!state)
		return -ENOMEM;
	evsel_raise_nofile();
	err = fasync_open_all(state, config);
	if (err) {
		fasync_close(state);
		return log_error(log, err, "delivery fasync: cannot open perf events: %s",
				 strerror(-err));
	}
	*ret = state;
	return 0;
}

int fasync_try(struct probe_detail *detail)
{
	uint64_t id = tracefs_printk_id();
	_cleanup_close_ int fd = -1;
	char filter[80];

	make_filter(filter, sizeof(filter), "perf-poke-try", 0);
	fd = id ? open_event(id, sched_getcpu(), filter) : -EOPNOTSUPP;
	return fd < 0 ? fd : 0;
}
