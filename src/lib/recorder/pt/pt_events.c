// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
/*
 * How the trace is frozen.
 *
 * Intel PT writes into a ring that it soon overwrites. A trace that goes on after the spike shows
 * more and more of what came afterwards: interrupts, the wakeup of the controller, the controller
 * itself. So it has to end in the context that sees the spike: the timer's interrupt, or the switch
 * to the late thread. A BPF program runs there, but no helper stops an event of Intel PT. Three
 * features of the kernel together do:
 *
 * 1. bpf_trace_printk() hits the tracepoint bpf_trace:bpf_trace_printk, on the CPU and in the
 *    context of the program that calls it.
 * 2. A perf event on a tracepoint may have a filter on a field that is text. With sample_period 1
 *    it overflows at each hit that the filter lets through.
 * 3. If an event with aux_pause overflows, the kernel first of all pauses the AUX event that leads
 *    its group; intel_pt stops tracing then and there. aux_resume is the opposite.
 *
 * Each watched CPU therefore has a group of three events:
 *
 *     intel_pt                                     the leader, with the AUX ring
 *     bpf_trace:bpf_trace_printk, aux_resume       filter bpf_string ~ "+NONCE*"
 *     bpf_trace:bpf_trace_printk, aux_pause        filter bpf_string ~ "-NONCE*"
 *
 * At a spike spike_freeze_trace() of bpf/spike.bpf.h prints "-NONCE". When the helper returns, the
 * trace has ended, without another interrupt, a wakeup or a process. Later the controller disables
 * the leader, which updates aux_head, copies the ring, and enables the leader again. The leader is
 * still paused then: that state outlives both ioctls. So the controller runs the program
 * trigger_resume on that CPU, which prints "+NONCE".
 *
 * The nonce is drawn for each session, by pt_make_messages(). Any BPF program of the machine may
 * print, and several sessions may run. Without a nonce, a message of somebody else could pause or
 * resume the trace.
 *
 * Three rules of the kernel decide how the group is opened:
 *
 * - The leader must be the event of Intel PT: aux_pause and aux_sample_size act on the leader of
 *   their group.
 * - A sibling that is enabled while its leader runs does not start. So the siblings are enabled
 *   when they are opened, and the leader by pt_events_enable(), later.
 * - The events of a tracepoint are looked at from the newest to the oldest. So the one that pauses
 *   is opened last, and the filter of the other is not part of the trace.
 *
 * What it costs: nothing as long as no program prints. At the spike the kernel formats the message
 * and compares it with the filters, at some 40 instructions a character, and these are the last
 * ones in the trace. Hence messages are short and differ in their first character. After the copy,
 * one run of a program on the watched CPU. The other watched CPUs go on: with freeze_all the
 * controller disables their events as under "signal" below.
 *
 * What a kernel lacks shows when the events are opened: pt_open_events() takes the first of these
 * ways that works, unless the options name one.
 *
 * - pause, as above: Linux 6.13, or a backport. Older kernels refuse the field aux_action with
 *   EINVAL, a PMU without the feature with EOPNOTSUPP.
 * - sample: Linux 5.5. Instead of two siblings there is one, with aux_sample_size and the filter of
 *   the pause. Its overflow copies the newest bytes of the AUX ring into a sample. Tracing goes on,
 *   so nothing has to be resumed. The price is the copy in the interrupt, and a short history: a
 *   record is limited to 64 KiB, where the ring has 16 MiB by default.
 * - signal: any kernel with Intel PT. There are no siblings. The controller disables the leader
 *   once it is awake. Until then the trace goes on, and what runs meanwhile takes the place of the
 *   oldest history.
 */
#include "recorder/pt/pt.h"

#include <ctype.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>

#include <perf/cpumap.h>
#include <perf/evsel.h>

/* For evsel->leader. */
#include <internal/evsel.h>

#include "io.h"
#include "machine/base.h"
#include "perfdata.h"
#include "task.h"

/* Room for the PT event's own records, which are dropped, and for some samples of up to 64 KiB. */
#define DATA_PAGES 64

/* The group of one CPU. pt NULL: the events could not be reopened. */
struct pt_group {
	struct perf_cpu_map *cpus; /* this CPU */
	struct perf_evsel *pt, *pause, *resume, *sample;
	void *aux; /* mapping */
};

struct pt_events {
	struct pt_events_config config;
	size_t nr_cpus, aux_size, page_size;
	struct perf_event_attr sample_attr;
	uint64_t *ids, *sample_ids;
	struct pt_group groups[];
};

static bool has_perf_events(int proc, const char *pid)
{
	_cleanup_closedir_ DIR *fds = NULL;
	char folder[300], target[64];
	struct dirent *entry;
	bool found = false;
	ssize_t len;

	snprintf(folder, sizeof(folder), "%s/fd", pid);
	if (opendir_at(&fds, proc, folder))
		return false;
	while (!found && (entry = readdir(fds))) {
		len = readlinkat(dirfd(fds), entry->d_name, target, sizeof(target) - 1);
		target[len < 0 ? 0 : len] = '\0';
		found = !strcmp(target, "anon_inode:[perf_event]");
	}
	return found;
}

/* Lists other processes with open perf events, as far as they fit: `: perf (123), ...` */
static void list_event_holders(char *text, size_t size)
{
	_cleanup_closedir_ DIR *proc = opendir("/proc");
	char name[TASK_COMM_SIZE];
	struct dirent *entry;
	size_t len = 0;

	text[0] = '\0';
	while (proc && (entry = readdir(proc))) {
		if (!isdigit(entry->d_name[0]) || atoi(entry->d_name) == getpid() ||
		    !has_perf_events(dirfd(proc), entry->d_name))
			continue;
		if (task_read_comm(atoi(entry->d_name), name))
			continue;
		if (len + strlen(name) + strlen(entry->d_name) + 5 >= size)
			break;
		len += snprintf(text + len, size - len, "%s%s (%s)", len ? ", " : ": ", name,
				entry->d_name);
	}
}

static int pt_explain_open(int err, const struct pt_events_config *config, const struct log *log)
{
	char holders[256];

	if (err == -EBUSY) {
		list_event_holders(holders, sizeof(holders));
		return log_error(log, err,
				 "intel_pt is in use on one of the CPUs: stop the other perf "
				 "record, or tool, that traces it%s%s",
				 *holders ? "; these have perf events open" : "", holders);
	}
	if (err == -EACCES || err == -EPERM)
		return log_error(log, -EPERM,
				 "intel_pt: permission denied: needs CAP_PERFMON, and no lockdown");
	if (err == -ENODEV)
		return log_error(log, err, "intel_pt: a CPU went offline");
	return log_error(log, err, "intel_pt: cannot open with config %#llx: %s",
			 (unsigned long long)config->attr.config, strerror(-err));
}

/* An event in the PT event's group that overflows when a BPF program prints its message on that
 * CPU. Enabled from the start: a sibling enabled while its leader runs does not start. */
static int pt_group_open_on_message(struct pt_group *group, struct perf_event_attr *attr,
				    const char *message, struct perf_evsel **ret)
{
	char filter[128];
	int err;

	*ret = perf_evsel__new(attr);
	if (!*ret)
		return -ENOMEM;
	(*ret)->leader = group->pt;
	err = evsel_open_on_cpus(*ret, group->cpus);
	snprintf(filter, sizeof(filter), "bpf_string ~ \"%s*\"", message);
	if (!err && ioctl(evsel_fd(*ret, 0), PERF_EVENT_IOC_SET_FILTER, filter))
		err = -errno;
	/* EINVAL: the kernel does not know the field; EOPNOTSUPP: the PMU lacks the feature. */
	return err == -EINVAL ? -EOPNOTSUPP : err;
}

static struct perf_event_attr message_event_attr(const struct pt_events_config *config)
{
	return (struct perf_event_attr){
		.size = sizeof(struct perf_event_attr),
		.type = PERF_TYPE_TRACEPOINT,
		.config = config->printk_id,
		.sample_period = 1,
	};
}

static int pt_group_open_action(struct pt_events *events, struct pt_group *group, uint32_t action,
				const char *message, struct perf_evsel **ret)
{
	struct perf_event_attr attr = message_event_attr(&events->config);

	memcpy((char *)&attr + AUX_ACTION_OFFSET, &action, sizeof(action));
	return pt_group_open_on_message(group, &attr, message, ret);
}

static int pt_group_open_sample(struct pt_events *events, struct pt_group *group)
{
	struct perf_event_attr attr = events->sample_attr;
	int err = pt_group_open_on_message(group, &attr, events->config.pause_message,
					   &group->sample);

	if (!err && ioctl(evsel_fd(group->sample, 0), PERF_EVENT_IOC_ID,
			  &events->sample_ids[group - events->groups]))
		err = -errno;
	return err;
}

static int pt_group_open_siblings(struct pt_events *events, struct pt_group *group)
{
	const struct pt_events_config *config = &events->config;
	int err;

	if (!config->printk_id)
		return 0;
	if (config->sample_size)
		return pt_group_open_sample(events, group);
	/* The kernel looks at the newest event first, so let that be the one that pauses. */
	err = pt_group_open_action(events, group, AUX_RESUME, config->resume_message,
				   &group->resume);
	return err ? err
		   : pt_group_open_action(events, group, AUX_PAUSE, config->pause_message,
					  &group->pause);
}

static int pt_group_open(struct pt_events *events, struct pt_group *group, const struct log *log)
{
	const struct pt_events_config *config = &events->config;
	struct perf_event_attr attr = config->attr;
	int err, fd;

	group->pt = perf_evsel__new(&attr);
	if (!group->pt)
		return -ENOMEM;
	err = evsel_open_on_cpus(group->pt, group->cpus);
	if (err)
		return pt_explain_open(err, config, log);
	fd = evsel_fd(group->pt, 0);
	if (config->filter && ioctl(fd, PERF_EVENT_IOC_SET_FILTER, config->filter))
		/* Not -EOPNOTSUPP, which makes the caller try the next way to freeze. */
		return log_error(log, -EINVAL,
				 "intel_pt: the kernel rejects the address filter '%s': %s",
				 config->filter,
				 errno == EOPNOTSUPP ? addr_filter_unsupported(config->filter)
						     : strerror(errno));
	if (ioctl(fd, PERF_EVENT_IOC_ID, &events->ids[group - events->groups]))
		return -errno;
	return pt_group_open_siblings(events, group);
}

static void pt_group_close(const struct pt_events *events, struct pt_group *group)
{
	if (group->aux)
		munmap(group->aux, events->aux_size);
	if (group->pt)
		perf_evsel__munmap(group->pt);
	evsel_delete(group->sample);
	evsel_delete(group->resume);
	evsel_delete(group->pause);
	evsel_delete(group->pt);
	*group = (struct pt_group){ .cpus = group->cpus };
}

static struct perf_event_mmap_page *pt_group_page(const struct pt_group *group)
{
	return perf_evsel__mmap_base(group->pt, 0, 0);
}

/* A read-only mapping makes an overwrite ring. MAP_POPULATE: some kernels map pages at first read,
 * which would slow down the first copy. */
static int pt_group_map_aux(const struct pt_events *events, struct pt_group *group)
{
	struct perf_event_mmap_page *page = pt_group_page(group);
	void *aux;

	page->aux_offset = (DATA_PAGES + 1) * events->page_size;
	page->aux_size = events->aux_size;
	aux = mmap(NULL, events->aux_size, PROT_READ, MAP_SHARED | MAP_POPULATE,
		   evsel_fd(group->pt, 0), page->aux_offset);
	if (aux == MAP_FAILED)
		return -errno;
	group->aux = aux;
	return 0;
}

static int pt_group_map(const struct pt_events *events, struct pt_group *group)
{
	int err = perf_evsel__mmap(group->pt, DATA_PAGES) ? -errno : 0;

	if (!err)
		err = pt_group_map_aux(events, group);
	/* The ring must be complete: samples go to it too. */
	if (!err && group->sample &&
	    ioctl(evsel_fd(group->sample, 0), PERF_EVENT_IOC_SET_OUTPUT, evsel_fd(group->pt, 0)))
		err = -errno;
	return err;
}

/* Without the check the rings could take all memory and leave none for snapshots and other
 * processes. */
static int pt_events_map_groups(struct pt_events *events, const struct log *log)
{
	const struct pt_events_config *config = &events->config;
	const char *const name = "MemAvailable:";
	uint64_t available = UINT64_MAX;
	char text[512], *line;
	int err = 0;

	if (!read_text_at(AT_FDCWD, "/proc/meminfo", text, sizeof(text)) &&
	    (line = strstr(text, name)))
		available = strtoull(line + strlen(name), NULL, 10) << 10;
	if ((config->nr_cpus + config->nr_copies) * config->aux_size > available)
		return log_error(log, -ENOMEM,
				 "buffer %zu: AUX rings of this size on %zu CPUs, and copies of "
				 "%zu, do not fit in the memory available, %llu MiB: use a "
				 "smaller buffer",
				 config->aux_size, config->nr_cpus, config->nr_copies,
				 (unsigned long long)available >> 20);
	for (size_t cpu = 0; cpu < events->nr_cpus && !err; cpu++)
		err = pt_group_map(events, &events->groups[cpu]);
	if (err == -EPERM)
		return log_error(log, err,
				 "buffer %zu: AUX rings of this size on %zu CPUs exceed the limit "
				 "on locked memory "
				 "(needs CAP_IPC_LOCK, a larger kernel.perf_event_mlock_kb, or a "
				 "smaller buffer)",
				 events->aux_size, events->nr_cpus);
	if (err)
		return log_error(log, err,
				 "buffer %zu: cannot map AUX rings of this size on %zu CPUs: %s",
				 events->aux_size, events->nr_cpus, strerror(-err));
	return 0;
}

int pt_events_open(struct pt_events **ret, const struct pt_events_config *config,
		   const struct log *log)
{
	struct pt_events *events =
		calloc(1, sizeof(*events) + config->nr_cpus * sizeof(events->groups[0]));
	char name[16];
	int err;

	if (!events)
		return -ENOMEM;
	evsel_init_libperf();
	events->config = *config;
	events->nr_cpus = config->nr_cpus;
	events->aux_size = config->aux_size;
	events->page_size = sysconf(_SC_PAGESIZE);
	events->ids = calloc(2 * config->nr_cpus, sizeof(*events->ids));
	events->sample_ids = events->ids + config->nr_cpus;
	events->sample_attr = message_event_attr(config);
	events->sample_attr.sample_type = config->sample_type | PERF_SAMPLE_AUX;
	events->sample_attr.sample_id_all = 1;
	events->sample_attr.read_format = PERF_FORMAT_ID;
	events->sample_attr.aux_sample_size = config->sample_size;
	err = events->ids ? 0 : -ENOMEM;
	for (size_t i = 0; i < events->nr_cpus && !err; i++) {
		snprintf(name, sizeof(name), "%d", config->cpus[i]);
		events->groups[i].cpus = perf_cpu_map__new(name);
		err = events->groups[i].cpus ? pt_group_open(events, &events->groups[i], log)
					     : -ENOMEM;
	}
	if (!err)
		err = pt_events_map_groups(events, log);
	if (err) {
		pt_events_free(events);
		return err;
	}
	*ret = events;
	return 0;
}

int pt_events_reopen(struct pt_events *events, size_t cpu)
{
	const struct log none = {};
	struct pt_group *group = &events->groups[cpu];
	int err;

	/* Close first: the limit on locked memory may not allow both. */
	pt_group_close(events, group);
	err = pt_group_open(events, group, &none);
	if (!err)
		err = pt_group_map(events, group);
	if (err)
		pt_group_close(events, group);
	return err;
}

bool pt_events_has_cpu(const struct pt_events *events, size_t cpu)
{
	return events->groups[cpu].pt;
}

int pt_events_enable(struct pt_events *events, size_t cpu)
{
	return ioctl(evsel_fd(events->groups[cpu].pt, 0), PERF_EVENT_IOC_ENABLE, 0) ? -errno : 0;
}

int pt_events_disable(struct pt_events *events, size_t cpu)
{
	struct perf_event_mmap_page *page = pt_group_page(&events->groups[cpu]);

	if (ioctl(evsel_fd(events->groups[cpu].pt, 0), PERF_EVENT_IOC_DISABLE, 0))
		return -errno;
	/* Drop the event's own records. */
	page->data_tail = __atomic_load_n(&page->data_head, __ATOMIC_ACQUIRE);
	return 0;
}

/* In an overwrite ring aux_head is the offset of the next byte, not a count. The oldest bytes
 * follow it, or zeros if the ring never wrapped, which decoders skip as padding. */
size_t pt_events_copy_ring(const struct pt_events *events, size_t cpu, uint8_t *copy)
{
	const struct perf_event_mmap_page *page = pt_group_page(&events->groups[cpu]);
	size_t head = __atomic_load_n(&page->aux_head, __ATOMIC_ACQUIRE) & (events->aux_size - 1);
	const uint8_t *aux = events->groups[cpu].aux;

	memcpy(copy, aux + head, events->aux_size - head);
	memcpy(copy + events->aux_size - head, aux, head);
	return head;
}

/* Copies bytes that may wrap around. */
static void ring_read_wrapped(const char *ring, size_t size, uint64_t at, void *to, size_t len)
{
	size_t offset = at & (size - 1);
	size_t first = len < size - offset ? len : size - offset;

	memcpy(to, ring + offset, first);
	memcpy((char *)to + first, ring, len - first);
}

int pt_events_take_sample(struct pt_events *events, size_t cpu, void **record)
{
	struct perf_event_mmap_page *page = pt_group_page(&events->groups[cpu]);
	const char *ring = (const char *)page + events->page_size;
	size_t size = DATA_PAGES * events->page_size;
	uint64_t head = __atomic_load_n(&page->data_head, __ATOMIC_ACQUIRE);
	struct perf_event_header header = {}, found = {};
	uint64_t at, found_at = 0;

	*record = NULL;
	for (at = page->data_tail; at < head; at += header.size) {
		ring_read_wrapped(ring, size, at, &header, sizeof(header));
		if (header.size < sizeof(header))
			break;
		if (header.type == PERF_RECORD_SAMPLE) {
			found = header;
			found_at = at;
		}
	}
	if (found.size && (*record = malloc(found.size)))
		ring_read_wrapped(ring, size, found_at, *record, found.size);
	__atomic_store_n(&page->data_tail, head, __ATOMIC_RELEASE);
	if (!found.size)
		return -ENODATA;
	return *record ? 0 : -ENOMEM;
}

const struct perf_event_attr *pt_events_sample_attr(const struct pt_events *events)
{
	return &events->sample_attr;
}

uint64_t *pt_events_ids(const struct pt_events *events)
{
	const size_t size = 2 * events->nr_cpus * sizeof(*events->ids);
	uint64_t *ids = malloc(size);

	if (ids)
		memcpy(ids, events->ids, size);
	return ids;
}

void pt_events_free(struct pt_events *events)
{
	if (!events)
		return;
	for (size_t i = 0; i < events->nr_cpus; i++) {
		pt_group_close(events, &events->groups[i]);
		perf_cpu_map__put(events->groups[i].cpus);
	}
	free(events->ids);
	free(events);
}
