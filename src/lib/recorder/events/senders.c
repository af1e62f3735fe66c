// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
#include "recorder/events/senders.h"

#include <string.h>

#include "cpulist.h"
#include "recorder/events/events.h"
#include "recorder/records.h"

#define ONLINE "/sys/devices/system/cpu/online"
/* Per CPU: room for about 300 events with stacks. */
#define RING_SIZE (64 << 10)
#define FILTER_SIZE 4096

struct senders {
	struct event_list list;
	struct ring_event events[SENDERS_EVENTS_MAX];
	struct rings *rings;
	int *cpus;
	size_t nr_cpus;
};

static const struct {
	const char *path, *name;
	bool mask; /* the target is a CPU mask; filtering on one needs Linux 6.6 */
} rows[SENDERS_EVENTS_MAX] = {
	{ "events/ipi/ipi_send_cpu/id", "ipi:ipi_send_cpu", false },
	{ "events/ipi/ipi_send_cpumask/id", "ipi:ipi_send_cpumask", true },
	{ "events/csd/csd_queue_cpu/id", "csd:csd_queue_cpu", false },
	{ "events/workqueue/workqueue_queue_work/id", "workqueue:workqueue_queue_work", false },
};

/* Such as `cpu==1||cpu==3`. Empty: too many CPUs for a filter. */
static void make_filter(char filter[FILTER_SIZE], const struct recorder_config *config)
{
	size_t len = 0;

	for (size_t i = 0; i < config->nr_cpus && len < FILTER_SIZE; i++)
		len += snprintf(filter + len, FILTER_SIZE - len, "%scpu==%d", i ? "||" : "",
				config->cpus[i]);
	if (len >= FILTER_SIZE)
		filter[0] = '\0';
}

static int make_mask_filter(char filter[FILTER_SIZE], const struct recorder_config *config)
{
	_cleanup_free_ char *list = NULL;
	int err = cpulist_format(config->cpus, config->nr_cpus, &list);

	if (!err)
		snprintf(filter, FILTER_SIZE, "cpumask & CPUS{%s}", list);
	return err;
}

static int open_list(struct senders *senders, const struct recorder_config *config, int tracefs_fd,
		     int root_fd, const struct log *log)
{
	struct perf_poke_event asked[SENDERS_EVENTS_MAX] = {};
	char filter[FILTER_SIZE], mask_filter[FILTER_SIZE];
	int err = make_mask_filter(mask_filter, config);
	size_t nr = 0;

	make_filter(filter, config);
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		asked[nr].name = rows[i].name;
		asked[nr].filter = rows[i].mask ? mask_filter : filter;
		nr += *asked[nr].filter && !faccessat(tracefs_fd, rows[i].path, F_OK, 0);
	}
	if (err || !nr)
		return err;
	return event_list_open(&senders->list, asked, nr, tracefs_fd, root_fd, log);
}

/* Kernel stacks only: user stacks would need the mappings of all tasks. */
static void make_events(struct senders *senders, const struct perf_event_attr *attr)
{
	for (size_t i = 0; i < senders->list.nr; i++) {
		struct ring_event *event = &senders->events[i];

		event->attr = *attr;
		event->attr.type = PERF_TYPE_TRACEPOINT;
		event->attr.config = senders->list.events[i].id;
		event->attr.sample_period = 1;
		event->attr.sample_type =
			RECORDS_SAMPLE_TYPE | PERF_SAMPLE_RAW | PERF_SAMPLE_CALLCHAIN;
		event->attr.exclude_callchain_user = 1;
		event->name = senders->list.events[i].name;
		event->filter = senders->list.events[i].filter;
		event->optional = event->needs_filter = true;
	}
}

int senders_open(struct senders **ret, const struct perf_event_attr *attr,
		 const struct recorder_config *config, int tracefs_fd, int root_fd,
		 const struct log *log)
{
	struct senders *senders = calloc(1, sizeof(*senders));
	int err;

	if (!senders)
		return -ENOMEM;
	err = open_list(senders, config, tracefs_fd, root_fd, log);
	if (!err && senders->list.nr)
		err = cpulist_read(ONLINE, &senders->cpus, &senders->nr_cpus);
	if (err || !senders->list.nr) {
		senders_free(senders);
		return err;
	}
	make_events(senders, attr);
	err = rings_open(&senders->rings, senders->events, senders->list.nr, senders->cpus,
			 senders->nr_cpus, rings_pages(RING_SIZE), log);
	if (err) {
		senders_free(senders);
		return err;
	}
	*ret = senders;
	return 0;
}

void senders_free(struct senders *senders)
{
	if (!senders)
		return;
	rings_free(senders->rings);
	event_list_close(&senders->list);
	free(senders->cpus);
	free(senders);
}

int senders_cpu_online(struct senders *senders, int cpu)
{
	return senders ? rings_reopen(senders->rings, cpu) : 0;
}

const struct ring_event *senders_events(const struct senders *senders, size_t *nr)
{
	*nr = senders ? senders->list.nr : 0;
	return senders ? senders->events : NULL;
}

int senders_copy(const struct senders *senders, struct sideband_copy **ret)
{
	*ret = NULL;
	return senders ? sideband_copy_rings(senders->rings, senders->nr_cpus, ret) : 0;
}

size_t senders_describe(const struct senders *senders, const struct sideband_copy *copy,
			struct perfdata_event *described)
{
	size_t nr = 0;

	for (size_t i = 0; senders && i < senders->list.nr; i++) {
		const struct ring_event *event = &senders->events[i];

		if (!event->opened)
			continue;
		described[nr] = (struct perfdata_event){ event->attr, event->name,
							 copy->ids + nr * senders->nr_cpus,
							 senders->nr_cpus };
		nr++;
	}
	return nr;
}

int senders_write(const struct sideband_copy *copy, struct perfdata *pd,
		  struct snapshot_facts *facts)
{
	struct records_facts found = {};
	int err = 0;

	for (size_t i = 0; copy && i < copy->nr && !err; i++)
		err = records_write(pd, &copy->rings[i], &found);
	facts->events += found.samples;
	facts->lost += found.lost;
	return err;
}
