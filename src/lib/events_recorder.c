// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
/* The recorder `events`: tracepoints of the watched CPUs in overwrite rings. Works on any machine.
 */
#include <fcntl.h>
#include <string.h>
#include <time.h>

#include <json-c/json.h>

#include "cpulist.h"
#include "events.h"
#include "perfdata.h"
#include "recorder.h"
#include "rings.h"
#include "tracefs.h"

#define BUFFER_DEFAULT (4ULL << 20)

struct events_recorder {
	struct recorder base;
	struct event_list list;
	struct ring_event *ring_events; /* those of the list, then one for the names of tasks */
	size_t nr_ring_events;
	struct rings *rings;
	size_t nr_cpus;
	uint64_t buffer_size;
	struct perfdata_features *features;
	int root_fd;
	int symbols_fd; /* perf.data folder that has the symbols; used by write alone */
};

struct snapshot {
	size_t nr_cpus;
	struct ring_copy copies[];
};

static struct events_recorder *to_events(struct recorder *recorder)
{
	return (struct events_recorder *)recorder;
}

static void events_free(struct recorder *recorder)
{
	struct events_recorder *events = to_events(recorder);

	rings_free(events->rings);
	perfdata_features_free(events->features);
	event_list_close(&events->list);
	free(events->ring_events);
	closep(&events->root_fd);
	closep(&events->symbols_fd);
	free(events);
}

/* All events share one layout of sample_type, as a file with several needs. Their clock is the
 * spike's. */
static void events_attr(struct perf_event_attr *attr)
{
	*attr = (struct perf_event_attr){
		.size = sizeof(*attr),
		.sample_period = 1,
		.sample_type = PERF_SAMPLE_IDENTIFIER | PERF_SAMPLE_IP | PERF_SAMPLE_TID |
			       PERF_SAMPLE_TIME | PERF_SAMPLE_CPU | PERF_SAMPLE_RAW,
		.read_format = PERF_FORMAT_ID,
		.sample_id_all = 1,
		.write_backward = 1,
		.use_clockid = 1,
		.clockid = CLOCK_MONOTONIC,
	};
}

static int events_make_attrs(struct events_recorder *events)
{
	struct ring_event *names;

	events->nr_ring_events = events->list.nr + 1;
	events->ring_events = calloc(events->nr_ring_events, sizeof(*events->ring_events));
	if (!events->ring_events)
		return -ENOMEM;
	for (size_t i = 0; i < events->list.nr; i++) {
		struct ring_event *event = &events->ring_events[i];

		events_attr(&event->attr);
		event->attr.type = PERF_TYPE_TRACEPOINT;
		event->attr.config = events->list.events[i].id;
		event->name = events->list.events[i].name;
		event->filter = events->list.events[i].filter;
		event->optional = events->list.events[i].optional;
	}
	names = &events->ring_events[events->list.nr];
	events_attr(&names->attr);
	names->attr.type = PERF_TYPE_SOFTWARE;
	names->attr.config = PERF_COUNT_SW_DUMMY;
	names->attr.comm = 1;
	names->attr.task = 1;
	names->name = "dummy:HG";
	return 0;
}

static int events_read_features(struct events_recorder *events,
				const struct recorder_config *config, int tracefs_fd)
{
	_cleanup_free_ const char **names = calloc(events->list.nr, sizeof(*names));
	int err;

	if (!names)
		return -ENOMEM;
	for (size_t i = 0; i < events->list.nr; i++)
		names[i] = events->list.events[i].name;
	err = perfdata_features_new(&events->features, events->root_fd, perf_poke__version(),
				    config->argv, config->argc);
	if (err)
		return err;
	return perfdata_features_add_tracing(events->features, tracefs_fd, names, events->list.nr);
}

static size_t buffer_pages(uint64_t size)
{
	size_t page = sysconf(_SC_PAGESIZE), pages = 1;

	while (pages * page < size)
		pages <<= 1;
	return pages;
}

static int events_open_all(struct events_recorder *events, const struct recorder_config *config,
			   const struct log *log)
{
	_cleanup_close_ int tracefs_fd = tracefs_open();
	size_t pages;
	int err;

	if (tracefs_fd < 0)
		return log_error(log, tracefs_fd,
				 "no tracefs: mount -t tracefs tracefs /sys/kernel/tracing (%s)",
				 strerror(-tracefs_fd));
	events->root_fd = open("/", O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (events->root_fd < 0)
		return -errno;
	err = event_list_open(&events->list, config->events, config->nr_events, tracefs_fd, log);
	if (!err)
		err = events_make_attrs(events);
	if (err)
		return err;
	err = events_read_features(events, config, tracefs_fd);
	if (err)
		return log_error(log, err, "cannot read the formats of the events: %s",
				 strerror(-err));
	pages = buffer_pages(config->buffer_size ? config->buffer_size : BUFFER_DEFAULT);
	events->buffer_size = pages * sysconf(_SC_PAGESIZE);
	events->nr_cpus = config->nr_cpus;
	return rings_open(&events->rings, events->ring_events, events->nr_ring_events, config->cpus,
			  config->nr_cpus, pages, log);
}

static int events_open(struct recorder **ret, const struct recorder_config *config,
		       const struct log *log)
{
	struct events_recorder *events = calloc(1, sizeof(*events));
	int err;

	if (!events)
		return -ENOMEM;
	events->base.ops = &events_recorder;
	events->root_fd = -1;
	events->symbols_fd = -1;
	err = events_open_all(events, config, log);
	if (err) {
		events_free(&events->base);
		return err;
	}
	*ret = &events->base;
	return 0;
}

static int events_freeze(struct recorder *recorder, int first_cpu)
{
	return rings_pause(to_events(recorder)->rings, first_cpu);
}

static int events_resume(struct recorder *recorder)
{
	return rings_resume(to_events(recorder)->rings);
}

static void events_snapshot_free(struct snapshot *snapshot)
{
	if (!snapshot)
		return;
	for (size_t i = 0; i < snapshot->nr_cpus; i++)
		free(snapshot->copies[i].data);
	free(snapshot);
}

static int events_copy(struct recorder *recorder, struct snapshot **ret)
{
	struct events_recorder *events = to_events(recorder);
	struct snapshot *snapshot;
	int err;

	snapshot = calloc(1, sizeof(*snapshot) + events->nr_cpus * sizeof(snapshot->copies[0]));
	if (!snapshot)
		return -ENOMEM;
	snapshot->nr_cpus = events->nr_cpus;
	err = rings_copy(events->rings, snapshot->copies);
	if (err) {
		events_snapshot_free(snapshot);
		return err;
	}
	*ret = snapshot;
	return 0;
}

/* Sample ids follow the record's own fields, in the order of perf_event.h: TID, TIME, (ID,
 * STREAM_ID,) CPU, IDENTIFIER. A sample has IDENTIFIER, IP, TID, TIME. */
static uint64_t record_time(const struct perf_event_header *header)
{
	const char *record = (const char *)header;
	size_t offset =
		header->type == PERF_RECORD_SAMPLE ? sizeof(*header) + 24U : header->size - 24U;
	uint64_t time_ns;

	if (offset + sizeof(time_ns) > header->size)
		return 0;
	memcpy(&time_ns, record + offset, sizeof(time_ns));
	return time_ns;
}

/* An overwrite ring loses events only while it is paused for a copy; the kernel notes how many in a
 * LOST record (header, id, lost, sample id). For perf, LOST means that the machine was too slow,
 * and it warns; the record that fits is LOST_SAMPLES (header, lost, sample id). */
static uint64_t record_convert_lost(struct perf_event_header *header)
{
	char *fields = (char *)(header + 1);
	uint64_t lost;

	memcpy(&lost, fields + 8, sizeof(lost));
	memmove(fields, fields + 8, header->size - sizeof(*header) - 8);
	header->type = PERF_RECORD_LOST_SAMPLES;
	header->size -= 8;
	return lost;
}

struct span {
	uint64_t first_ns, last_ns;
};

/* Writes one ring's records, oldest first. The oldest may be torn: what is not whole is left out.
 */
static int write_ring(struct perfdata *pd, const struct ring_copy *copy, struct span *span,
		      struct snapshot_facts *facts)
{
	_cleanup_free_ uint32_t *offsets = NULL;
	size_t nr = 0, offset = 0;
	int err = 0;

	offsets = calloc(copy->size / sizeof(struct perf_event_header) + 1, sizeof(*offsets));
	if (!offsets)
		return -ENOMEM;
	while (offset + sizeof(struct perf_event_header) <= copy->size) {
		const struct perf_event_header *header = (void *)(copy->data + offset);

		if (header->size < sizeof(*header) || header->size > copy->size - offset)
			break;
		offsets[nr++] = offset;
		offset += header->size;
	}
	for (; nr && !err; nr--) {
		struct perf_event_header *header = (void *)(copy->data + offsets[nr - 1]);
		uint64_t time_ns = record_time(header);

		if (header->type == PERF_RECORD_LOST)
			facts->lost += record_convert_lost(header);
		if (!span->first_ns || time_ns < span->first_ns)
			span->first_ns = time_ns;
		if (time_ns > span->last_ns)
			span->last_ns = time_ns;
		facts->events += header->type == PERF_RECORD_SAMPLE;
		err = perfdata_write(pd, header, header->size);
	}
	return err;
}

static int write_system(const struct events_recorder *events, struct perfdata *pd)
{
	const struct perf_event_attr *attr = &events->ring_events[0].attr;
	struct perfdata_buf buf = {};
	int err;

	err = perfdata_put_kernel(&buf, attr, events->root_fd);
	if (!err)
		err = perfdata_put_tasks(&buf, attr, events->root_fd);
	if (!err)
		err = perfdata_write(pd, buf.data, buf.len);
	perfdata_buf_release(&buf);
	return err;
}

/* The symbols are the same for all captures of a session: the first has them written, later ones
 * link to them. Where somebody has removed them meanwhile, they are written again. */
static int write_symbols(struct events_recorder *events, struct perfdata *pd)
{
	_cleanup_close_ int fd = dup(perfdata_dirfd(pd));
	int err = -ENOENT;

	if (fd < 0)
		return -errno;
	if (events->symbols_fd >= 0)
		err = perfdata_kcore_dir_link(events->symbols_fd, fd);
	if (err == -ENOENT)
		err = perfdata_kcore_dir(fd, events->root_fd);
	if (err)
		return err;
	closep(&events->symbols_fd);
	events->symbols_fd = TAKE_FD(fd);
	return 0;
}

static int write_records(struct events_recorder *events, struct perfdata *pd,
			 const struct snapshot *snapshot, int spike_cpu,
			 struct snapshot_facts *facts)
{
	struct perfdata_buf round = {};
	struct span all = {};
	int err = 0;

	for (size_t i = 0; i < snapshot->nr_cpus && !err; i++) {
		const struct ring_copy *copy = &snapshot->copies[i];
		struct span span = {};

		err = write_ring(pd, copy, &span, facts);
		if (!span.first_ns)
			continue;
		if (copy->cpu == spike_cpu || (spike_cpu < 0 && span.first_ns > facts->oldest_ns))
			facts->oldest_ns = span.first_ns;
		if (!all.first_ns || span.first_ns < all.first_ns)
			all.first_ns = span.first_ns;
		if (span.last_ns > all.last_ns)
			all.last_ns = span.last_ns;
	}
	if (!err)
		err = perfdata_put_finished_round(&round);
	if (!err)
		err = perfdata_write(pd, round.data, round.len);
	perfdata_buf_release(&round);
	return err ? err : perfdata_finish(pd, events->features, all.first_ns, all.last_ns);
}

static int events_write(struct recorder *recorder, const struct snapshot *snapshot, int dirfd,
			int spike_cpu, struct snapshot_facts *facts)
{
	struct events_recorder *events = to_events(recorder);
	_cleanup_free_ struct perfdata_event *described = NULL;
	struct perfdata *pd;
	size_t nr = 0;
	int err;

	described = calloc(events->nr_ring_events, sizeof(*described));
	if (!described)
		return -ENOMEM;
	for (size_t i = 0; i < events->nr_ring_events; i++) {
		const struct ring_event *event = &events->ring_events[i];

		if (event->opened)
			described[nr++] = (struct perfdata_event){ event->attr, event->name,
								   event->ids, events->nr_cpus };
	}
	err = perfdata_create(&pd, dirfd, "perf.data", described, nr);
	if (err)
		return err;
	err = write_system(events, pd);
	if (!err)
		err = write_records(events, pd, snapshot, spike_cpu, facts);
	if (!err)
		err = write_symbols(events, pd);
	facts->size = perfdata_size(pd);
	perfdata_free(pd);
	return err;
}

static void events_describe(const struct recorder *recorder, struct json_object *json)
{
	const struct events_recorder *events = (const struct events_recorder *)recorder;
	struct json_object *list = json_object_new_array();

	json_object_object_add(json, "buffer_size", json_object_new_uint64(events->buffer_size));
	for (size_t i = 0; i < events->list.nr; i++) {
		struct json_object *event;

		if (!events->ring_events[i].opened)
			continue;
		event = json_object_new_object();

		json_object_object_add(event, "name",
				       json_object_new_string(events->list.events[i].name));
		if (events->list.events[i].filter)
			json_object_object_add(
				event, "filter",
				json_object_new_string(events->list.events[i].filter));
		json_object_array_add(list, event);
	}
	json_object_object_add(json, "events", list);
}

const struct recorder_ops events_recorder = {
	.name = "events",
	.open = events_open,
	.freeze = events_freeze,
	.copy = events_copy,
	.resume = events_resume,
	.write = events_write,
	.describe = events_describe,
	.snapshot_free = events_snapshot_free,
	.free = events_free,
};
