// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
#include "recorder/recorder.h"

#include <string.h>

#include "cpulist.h"
#include "io.h"

#define ONLINE "/sys/devices/system/cpu/online"
/* Per CPU: room for about 300 events with stacks. */
#define RING_SIZE (64 << 10)
#define FILTER_SIZE 4096

struct senders {
	struct ring_event events[SENDERS_EVENTS_MAX];
	size_t nr;
	char filter[FILTER_SIZE], mask_filter[FILTER_SIZE];
	struct rings *rings;
	int *cpus;
	size_t nr_cpus;
};

static const struct {
	const char *path, *name;
	bool mask; /* targets a CPU mask; a filter on one CPU needs Linux 6.6 */
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

/* Kernel stacks only: user stacks would need the mappings of all tasks. */
static void add_event(struct senders *senders, size_t row, uint64_t id,
		      const struct perf_event_attr *attr)
{
	struct ring_event *event = &senders->events[senders->nr++];

	event->attr = *attr;
	event->attr.type = PERF_TYPE_TRACEPOINT;
	event->attr.config = id;
	event->attr.sample_period = 1;
	event->attr.sample_type = RECORDS_SAMPLE_TYPE | PERF_SAMPLE_RAW | PERF_SAMPLE_CALLCHAIN;
	event->attr.exclude_callchain_user = 1;
	event->name = rows[row].name;
	event->filter = rows[row].mask ? senders->mask_filter : senders->filter;
	event->optional = event->needs_filter = true;
}

static int add_events(struct senders *senders, const struct perf_event_attr *attr,
		      const struct recorder_config *config, int tracefs_fd)
{
	int err = make_mask_filter(senders->mask_filter, config);
	char text[32];

	if (err)
		return err;
	make_filter(senders->filter, config);
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		if (!rows[i].mask && !*senders->filter)
			continue;
		if (!read_text_at(tracefs_fd, rows[i].path, text, sizeof(text)))
			add_event(senders, i, strtoull(text, NULL, 10), attr);
	}
	return 0;
}

int senders_open(struct senders **ret, const struct perf_event_attr *attr,
		 const struct recorder_config *config, int tracefs_fd, const struct log *log)
{
	struct senders *senders = calloc(1, sizeof(*senders));
	int err;

	if (!senders)
		return -ENOMEM;
	err = add_events(senders, attr, config, tracefs_fd);
	if (!err && senders->nr)
		err = cpulist_read(ONLINE, &senders->cpus, &senders->nr_cpus);
	if (!err && senders->nr)
		err = rings_open(&senders->rings, senders->events, senders->nr, senders->cpus,
				 senders->nr_cpus, rings_pages(RING_SIZE), log);
	if (err || !senders->nr) {
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
	free(senders->cpus);
	free(senders);
}

int senders_cpu_online(struct senders *senders, int cpu)
{
	return senders ? rings_reopen(senders->rings, cpu) : 0;
}

const struct ring_event *senders_events(const struct senders *senders, size_t *nr)
{
	*nr = senders ? senders->nr : 0;
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

	for (size_t i = 0; senders && i < senders->nr; i++) {
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
