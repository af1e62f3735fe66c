// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
/* Who asks a watched CPU for something, or wakes its tasks: a second tracing instance, of the other
 * CPUs. It traces no functions, and goes on at a spike. */
#include "recorder/ftrace/ftrace.h"

#include <fcntl.h>
#include <string.h>

#include <tracefs/tracefs.h>

#include "cpulist.h"
#include "io.h"
#include "text.h"

#define ONLINE "/sys/devices/system/cpu/online"

struct ftrace_senders {
	struct tracefs_instance *instance;
	uint64_t ring_size;
	size_t nr_cpus;
	struct ftrace_cpu cpus[];
};

static int senders_append(void *list, const char *name, const char *filter)
{
	struct event event = { .name = strdup(name), .optional = true };

	event.filter = filter ? strdup(filter) : NULL;
	if (!event.name || (filter && !event.filter)) {
		free(event.name);
		free(event.filter);
		return -ENOMEM;
	}
	return event_list_append(list, event);
}

int ftrace_senders_list(struct ftrace_recorder *ftrace, const struct recorder_config *config)
{
	return senders_each_tracepoint(config, event_list_senders(&ftrace->list), ftrace->tracefs,
				       senders_append, &ftrace->sender_list);
}

/* *ret: NULL if all CPUs are watched. */
static int senders_new(struct ftrace_senders **ret, const struct recorder_config *config)
{
	_cleanup_free_ int *online = NULL;
	struct ftrace_senders *senders;
	size_t nr;
	int err = cpulist_read(ONLINE, &online, &nr);

	*ret = NULL;
	if (err)
		return err;
	senders = calloc(1, sizeof(*senders) + nr * sizeof(senders->cpus[0]));
	if (!senders)
		return -ENOMEM;
	for (size_t i = 0; i < nr; i++) {
		if (cpulist_missing(&online[i], 1, config->cpus, config->nr_cpus) >= 0)
			senders->cpus[senders->nr_cpus++] =
				(struct ftrace_cpu){ .cpu = online[i], .fd = -1 };
	}
	if (senders->nr_cpus)
		*ret = senders;
	else
		free(senders);
	return 0;
}

static int senders_open_rings(struct ftrace_senders *senders)
{
	int err = 0;

	for (size_t i = 0; i < senders->nr_cpus && !err; i++)
		err = ftrace_instance_open_ring(senders->instance, &senders->cpus[i],
						"trace_pipe_raw");
	return err;
}

int ftrace_senders_open(struct ftrace_recorder *ftrace, const struct recorder_config *config,
			const struct log *log)
{
	struct ftrace_senders *senders = NULL;
	_cleanup_free_ int *cpus = NULL;
	int err = ftrace->sender_list.nr ? senders_new(&senders, config) : 0;

	if (err || !senders)
		return err;
	ftrace->senders = senders;
	senders->ring_size = senders_ring_size(senders->nr_cpus, event_list_senders(&ftrace->list));
	cpus = calloc(senders->nr_cpus, sizeof(*cpus));
	if (!cpus)
		return -ENOMEM;
	for (size_t i = 0; i < senders->nr_cpus; i++)
		cpus[i] = senders->cpus[i].cpu;
	err = ftrace_instance_make(ftrace, &senders->instance, config->opts->session, ":senders",
				   log);
	if (!err)
		err = ftrace_instance_set_rings(senders->instance, cpus, senders->nr_cpus,
						senders->ring_size, log);
	for (size_t i = 0; i < ftrace->sender_list.nr && !err; i++)
		err = ftrace_instance_enable_event(senders->instance,
						   &ftrace->sender_list.events[i], true, log);
	return err ? err : senders_open_rings(senders);
}

int ftrace_senders_start(const struct ftrace_senders *senders)
{
	return senders ? ftrace_instance_write(senders->instance, "tracing_on", "1") : 0;
}

size_t ftrace_senders_count(const struct ftrace_senders *senders)
{
	return senders ? senders->nr_cpus : 0;
}

/* The kernel goes on writing. What is read once is not read again. */
int ftrace_senders_copy(const struct ftrace_senders *senders, struct trace_dat_ring *rings)
{
	int err = 0;

	for (size_t i = 0; senders && i < senders->nr_cpus && !err; i++)
		err = ftrace_ring_read(&senders->cpus[i], senders->ring_size, &rings[i]);
	return err;
}

void ftrace_senders_close(struct ftrace_senders *senders)
{
	if (!senders)
		return;
	for (size_t i = 0; i < senders->nr_cpus; i++)
		closep(&senders->cpus[i].fd);
	if (senders->instance) {
		/* It may be left behind. */
		ftrace_instance_write(senders->instance, "tracing_on", "0");
		tracefs_instance_free(senders->instance);
	}
	free(senders);
}
