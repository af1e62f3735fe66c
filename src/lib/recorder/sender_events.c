// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
#include "recorder/recorder.h"

#include <string.h>

#include "cpulist.h"
#include "io.h"

#define ONLINE "/sys/devices/system/cpu/online"
/* Of a ring: at least about 300 events with stacks. At most some 4,000, several seconds of the
 * wakeups that a busy CPU causes; on a large machine less, because each CPU has a ring. */
#define RING_MIN (64ULL << 10)
#define RING_MAX (1ULL << 20)
#define RINGS_TOTAL (64ULL << 20)
#define FILTER_SIZE 4096
/* Enough for the path from a network interrupt to a wakeup. */
#define FRAMES_MAX 24

struct senders {
	struct ring_event events[SENDERS_EVENTS_MAX];
	size_t nr;
	char filters[SENDERS_EVENTS_MAX][FILTER_SIZE];
	struct rings *rings;
	int *cpus;
	size_t nr_cpus;
};

static const struct {
	const char *path, *name;
	enum senders_what what;
	const char *field; /* the CPU; NULL: no filter */
	bool mask;	   /* several CPUs; a filter on one of them needs Linux 6.6 */
	const char *other; /* another CPU that may be watched */
} rows[SENDERS_EVENTS_MAX] = {
	{ "events/ipi/ipi_send_cpu/id", "ipi:ipi_send_cpu", SENDERS_REQUESTS, "cpu", false },
	{ "events/ipi/ipi_send_cpumask/id", "ipi:ipi_send_cpumask", SENDERS_REQUESTS, "cpumask",
	  true },
	{ "events/csd/csd_queue_cpu/id", "csd:csd_queue_cpu", SENDERS_REQUESTS, "cpu", false },
	{ "events/workqueue/workqueue_queue_work/id", "workqueue:workqueue_queue_work",
	  SENDERS_REQUESTS, "cpu", false },
	/* In the context of the waker. The CPU is the one where the task ran last. */
	{ "events/sched/sched_waking/id", "sched:sched_waking", SENDERS_WAKERS, "target_cpu",
	  false },
	{ "events/sched/sched_migrate_task/id", "sched:sched_migrate_task", SENDERS_MIGRATIONS,
	  "orig_cpu", false, "dest_cpu" },
	{ "events/sched/sched_switch/id", RECORDS_SWITCH, SENDERS_SWITCHES, NULL, false },
};

/* Appends such as `cpu==1||(cpu>=3&&cpu<=9)`. Empty then: too many CPUs for a filter. */
static void make_cpu_filter(char filter[FILTER_SIZE], const char *field,
			    const struct recorder_config *config)
{
	const int *cpus = config->cpus;
	size_t len = strlen(filter), next;

	for (size_t i = 0; i < config->nr_cpus && len < FILTER_SIZE; i = next) {
		const char *separator = len ? "||" : "";

		for (next = i + 1; next < config->nr_cpus && cpus[next] == cpus[next - 1] + 1;)
			next++;
		if (next == i + 1)
			len += snprintf(filter + len, FILTER_SIZE - len, "%s%s==%d", separator,
					field, cpus[i]);
		else
			len += snprintf(filter + len, FILTER_SIZE - len, "%s(%s>=%d&&%s<=%d)",
					separator, field, cpus[i], field, cpus[next - 1]);
	}
	if (len >= FILTER_SIZE)
		filter[0] = '\0';
}

static int make_mask_filter(char filter[FILTER_SIZE], const char *field,
			    const struct recorder_config *config)
{
	_cleanup_free_ char *list = NULL;
	int err = cpulist_format(config->cpus, config->nr_cpus, &list);

	if (!err)
		snprintf(filter, FILTER_SIZE, "%s & CPUS{%s}", field, list);
	return err;
}

/* 0 with an empty filter: there are too many CPUs for one. */
static int sender_make_filter(char filter[FILTER_SIZE], size_t row,
			      const struct recorder_config *config)
{
	if (rows[row].mask)
		return make_mask_filter(filter, rows[row].field, config);
	if (rows[row].field)
		make_cpu_filter(filter, rows[row].field, config);
	if (rows[row].other && *filter)
		make_cpu_filter(filter, rows[row].other, config);
	return 0;
}

static bool senders_have_event(size_t row, unsigned int what, int tracefs_fd, uint64_t *id)
{
	char text[32];

	if (!(rows[row].what & what) ||
	    read_text_at(tracefs_fd, rows[row].path, text, sizeof(text)))
		return false;
	*id = strtoull(text, NULL, 10);
	return true;
}

int senders_each_tracepoint(const struct recorder_config *config, unsigned int what, int tracefs_fd,
			    int (*take)(void *ctx, const char *name, const char *filter), void *ctx)
{
	char filter[FILTER_SIZE];
	uint64_t id;
	int err = 0;

	for (size_t i = 0; i < ARRAY_SIZE(rows) && !err; i++) {
		if (!senders_have_event(i, what, tracefs_fd, &id))
			continue;
		filter[0] = '\0';
		err = sender_make_filter(filter, i, config);
		if (!err && (!rows[i].field || *filter))
			err = take(ctx, rows[i].name, rows[i].field ? filter : NULL);
	}
	return err;
}

/* Of those who ask, kernel stacks only: user stacks would need the mappings of all tasks. */
static int senders_add_event(struct senders *senders, size_t row, uint64_t id,
			     const struct perf_event_attr *attr,
			     const struct recorder_config *config)
{
	struct ring_event *event = &senders->events[senders->nr];
	char *filter = senders->filters[senders->nr];
	const char *field = rows[row].field;
	int err = sender_make_filter(filter, row, config);

	if (err || (field && !*filter))
		return err;
	event->attr = *attr;
	event->attr.type = PERF_TYPE_TRACEPOINT;
	event->attr.config = id;
	event->attr.sample_period = 1;
	event->attr.sample_type = RECORDS_SAMPLE_TYPE | PERF_SAMPLE_RAW | PERF_SAMPLE_CALLCHAIN;
	event->attr.sample_max_stack =
		records_max_stack(field ? FRAMES_MAX : RECORDS_SWITCH_FRAMES);
	event->attr.exclude_callchain_user = !!field;
	if (rows[row].what & (SENDERS_WAKERS | SENDERS_SWITCHES))
		records_add_user_regs(&event->attr);
	event->name = rows[row].name;
	event->filter = field ? filter : NULL;
	event->optional = true;
	event->needs_filter = field;
	senders->nr++;
	return 0;
}

static int senders_add_events(struct senders *senders, const struct perf_event_attr *attr,
			      const struct recorder_config *config, unsigned int what,
			      int tracefs_fd)
{
	uint64_t id;
	int err = 0;

	for (size_t i = 0; i < ARRAY_SIZE(rows) && !err; i++) {
		if (senders_have_event(i, what, tracefs_fd, &id))
			err = senders_add_event(senders, i, id, attr, config);
	}
	return err;
}

static int senders_find_cpus(struct senders *senders, const struct recorder_config *config,
			     unsigned int what)
{
	if (what != SENDERS_SWITCHES)
		return cpulist_read(ONLINE, &senders->cpus, &senders->nr_cpus);
	senders->nr_cpus = config->nr_cpus;
	senders->cpus = malloc(config->nr_cpus * sizeof(*senders->cpus));
	if (!senders->cpus)
		return -ENOMEM;
	memcpy(senders->cpus, config->cpus, config->nr_cpus * sizeof(*senders->cpus));
	return 0;
}

/* Requests alone are few. */
size_t senders_ring_size(size_t nr_cpus, unsigned int what)
{
	uint64_t size = what == SENDERS_REQUESTS ? RING_MIN : RING_MAX;

	while (size > RING_MIN && size * nr_cpus > RINGS_TOTAL)
		size /= 2;
	return size;
}

int senders_open(struct senders **ret, const struct perf_event_attr *attr,
		 const struct recorder_config *config, unsigned int what, int tracefs_fd,
		 const struct log *log)
{
	struct senders *senders = calloc(1, sizeof(*senders));
	int err;

	if (!senders)
		return -ENOMEM;
	err = senders_add_events(senders, attr, config, what, tracefs_fd);
	if (!err && senders->nr)
		err = senders_find_cpus(senders, config, what);
	if (!err && senders->nr)
		err = rings_open(&senders->rings, senders->events, senders->nr, senders->cpus,
				 senders->nr_cpus,
				 rings_pages_for_size(senders_ring_size(senders->nr_cpus, what)),
				 log);
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
	return senders ? rings_reopen_cpu(senders->rings, cpu) : 0;
}

const struct ring_event *senders_ring_events(const struct senders *senders, size_t *nr)
{
	*nr = senders ? senders->nr : 0;
	return senders ? senders->events : NULL;
}

int senders_copy_rings(const struct senders *senders, struct ring_copies **ret)
{
	*ret = NULL;
	return senders ? ring_copies_new(senders->rings, senders->nr_cpus, ret) : 0;
}

size_t senders_describe(const struct senders *senders, const struct ring_copies *copy,
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

int senders_write_records(const struct ring_copies *copy, struct perfdata *pd,
			  struct snapshot_facts *facts)
{
	struct records_facts found = {};
	int err = 0;

	for (size_t i = 0; copy && i < copy->nr && !err; i++)
		err = records_write_ring(pd, &copy->rings[i], &found);
	facts->events += found.samples;
	facts->lost += found.lost;
	return err;
}
