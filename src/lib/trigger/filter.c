// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
#include "trigger/trigger.h"

#include <linux/perf_event.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>

#include <bpf/bpf.h>
#include <bpf/libbpf.h>

#include "bpf/trigger.skel.h"
#include "machine/base.h"
#include "util.h"

#define FORMAT_MAX 4096

struct filter {
	struct filter_config config;
	int events_fd, seen_fd; /* of filter_events and filter_seen */
	int nr_possible;
	char *event, *text;
	uint64_t id; /* id of the tracepoint */
	int *fds;    /* by possible CPU; -1: none */
};

int filter_has(const char *event)
{
	const char *begin = strchr(event, '/'), *end = strrchr(event, '/');

	return !begin ? 0 : end < begin + 2 || end[1] ? -EINVAL : 1;
}

/* Splits SYS:NAME/FILTER/. */
static int filter_parse(struct filter *filter, const char *event)
{
	const char *begin = event + strcspn(event, "/") + 1;

	filter->event = strndup(event, begin - event - 1);
	filter->text = strndup(begin, strlen(begin) - 1);
	return filter->event && filter->text ? 0 : -ENOMEM;
}

/* Turns "\tfield:TYPE NAME[N];\t..." lines into "NAME, NAME". */
static void filter_list_fields(char *format)
{
	char *to = format, *save = NULL;

	for (char *line = strtok_r(format, "\n", &save); line; line = strtok_r(NULL, "\n", &save)) {
		char *end = strchr(line, ';'), *name;

		if (strncmp(line, "\tfield:", 7) || !end)
			continue;
		*end = '\0';
		name = strrchr(line, ' ');
		if (!name || !strncmp(++name, "common_", 7))
			continue;
		name[strcspn(name, "[")] = '\0';
		to += sprintf(to, "%s%s", to == format ? "" : ", ", name);
	}
	*to = '\0';
}

static int filter_explain(const struct filter *filter, const struct log *log)
{
	_cleanup_free_ char *fields = calloc(1, FORMAT_MAX);
	int err =
		fields ? tracefs_read_event(filter->event, "format", fields, FORMAT_MAX) : -ENOMEM;

	if (!err)
		filter_list_fields(fields);
	return log_error(log, -EINVAL,
			 "%s: %s: the kernel rejects the filter '%s' (fields: %s; CPU, COMM; as in "
			 "perf record --filter)",
			 filter->config.what, filter->event, filter->text, err ? "?" : fields);
}

static int filter_open_on(struct filter *filter, int cpu)
{
	struct perf_event_attr attr = {
		.type = PERF_TYPE_TRACEPOINT,
		.size = sizeof(attr),
		.config = filter->id,
		.disabled = 1,
	};
	__u32 key = (__u32)filter->config.number * filter->nr_possible + cpu;
	__u64 none = 0;
	int *fd = &filter->fds[cpu];

	*fd = (int)syscall(SYS_perf_event_open, &attr, -1, cpu, -1, PERF_FLAG_FD_CLOEXEC);
	if (*fd < 0)
		return -errno;
	if (ioctl(*fd, PERF_EVENT_IOC_SET_FILTER, filter->text))
		return -errno;
	/* Keep this order: the program compares with the map from here on. */
	if (bpf_map_update_elem(filter->events_fd, &key, fd, BPF_ANY) ||
	    bpf_map_update_elem(filter->seen_fd, &key, &none, BPF_ANY))
		return -errno;
	return 0;
}

static bool filter_counts(const struct filter *filter, int cpu)
{
	for (size_t i = 0; i < filter->config.nr_cpus; i++) {
		if (filter->config.cpus[i] == cpu)
			return true;
	}
	return !filter->config.nr_cpus;
}

static int filter_open_all(struct filter *filter, const struct log *log)
{
	const struct filter_config *config = &filter->config;
	int err = tracefs_event_id(filter->event, &filter->id);

	for (int cpu = 0; cpu < filter->nr_possible && !err; cpu++) {
		err = filter_counts(filter, cpu) ? filter_open_on(filter, cpu) : 0;
		if (err == -ENODEV)
			err = 0;
	}
	if (err == -EINVAL)
		return filter_explain(filter, log);
	if (err)
		log_error(log, err, "%s: %s: cannot count what passes a filter: %s", config->what,
			  filter->event, tracefs_strerror(err));
	return err;
}

void filter_load(const struct trigger *trigger)
{
	__u32 entries = FILTERS * (__u32)trigger->nr_possible;

	bpf_map__set_max_entries(trigger->skel->maps.filter_events, entries);
	bpf_map__set_max_entries(trigger->skel->maps.filter_seen, entries);
}

int filter_open(struct trigger *trigger, const struct filter_config *config, const struct log *log)
{
	struct filter *filter = calloc(1, sizeof(*filter));
	int err;

	if (!filter)
		return -ENOMEM;
	filter->config = *config;
	filter->events_fd = bpf_map__fd(trigger->skel->maps.filter_events);
	filter->seen_fd = bpf_map__fd(trigger->skel->maps.filter_seen);
	filter->nr_possible = trigger->nr_possible;
	filter->fds = malloc(filter->nr_possible * sizeof(*filter->fds));
	for (int cpu = 0; filter->fds && cpu < filter->nr_possible; cpu++)
		filter->fds[cpu] = -1;
	err = filter->fds ? filter_parse(filter, config->event) : -ENOMEM;
	if (!err)
		err = filter_open_all(filter, log);
	if (err) {
		filter_free(filter);
		return err;
	}
	trigger->filters[config->number] = filter;
	return 0;
}

int filter_start(const struct filter *filter)
{
	if (!filter)
		return 0;
	for (int cpu = 0; cpu < filter->nr_possible; cpu++) {
		if (filter->fds[cpu] >= 0 && ioctl(filter->fds[cpu], PERF_EVENT_IOC_ENABLE, 0))
			return -errno;
	}
	return 0;
}

int filter_cpu_online(struct filter *filter, int cpu)
{
	int err;

	if (!filter_counts(filter, cpu))
		return 0;
	closep(&filter->fds[cpu]);
	err = filter_open_on(filter, cpu);
	return err ? err : ioctl(filter->fds[cpu], PERF_EVENT_IOC_ENABLE, 0) ? -errno : 0;
}

void filter_free(struct filter *filter)
{
	if (!filter)
		return;
	for (int cpu = 0; filter->fds && cpu < filter->nr_possible; cpu++)
		closep(&filter->fds[cpu]);
	free(filter->fds);
	free(filter->event);
	free(filter->text);
	free(filter);
}
