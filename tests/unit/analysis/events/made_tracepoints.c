// SPDX-License-Identifier: GPL-2.0-only
#include "made_tracepoints.h"

#include <string.h>

#include "perfdata.h"
#include "util.h"

#define FORMATS_MAX 32

struct made_sample made_sample(uint16_t id, uint64_t time, uint32_t tid, const void *fields,
			       size_t size)
{
	struct made_sample sample = {
		.header = { PERF_RECORD_SAMPLE, 0, sizeof(sample) },
		.id = id,
		.pid = tid,
		.tid = tid,
		.time = time,
		.raw_size = sizeof(sample.raw),
		.raw = { .type = id, .pid = (int32_t)tid },
	};

	assert_in_range(size, 0, sizeof(sample.raw.fields));
	memcpy(sample.raw.fields, fields, size);
	return sample;
}

static void put_format(const struct folder *folder, const struct made_format *format)
{
	const char *colon = strchr(format->name, ':');
	char path[128];

	snprintf(path, sizeof(path), "events/%.*s/%s/format", (int)(colon - format->name),
		 format->name, colon + 1);
	put_file(folder->fd, path, format->text);
}

struct made_sample made_comm(uint32_t tid, const char *comm)
{
	struct {
		struct perf_event_header header;
		uint32_t pid, tid;
		char comm[16];
	} record = { { PERF_RECORD_COMM, 0, sizeof(struct made_sample) }, 1, tid, "" };
	struct made_sample made;

	memset(&made, 'x', sizeof(made));
	memcpy(record.comm, comm, strlen(comm));
	memcpy(&made, &record, sizeof(record));
	return made;
}

/* At the end of the record. */
static void put_sample_id(struct made_sample *made, uint64_t time, uint64_t id, uint32_t tid,
			  uint32_t cpu)
{
	const struct {
		uint32_t pid, tid;
		uint64_t time;
		uint32_t cpu, reserved;
		uint64_t id;
	} sample_id = { 1, tid, time, cpu, 0, id };

	memcpy((uint8_t *)made + sizeof(*made) - sizeof(sample_id), &sample_id, sizeof(sample_id));
}

struct made_sample made_comm_at(uint64_t time, uint64_t id, uint32_t tid, const char *comm)
{
	struct made_sample made = made_comm(tid, comm);

	put_sample_id(&made, time, id, tid, 0);
	return made;
}

struct made_sample made_lost(uint64_t time, uint64_t id, uint32_t cpu, uint64_t lost)
{
	const struct {
		struct perf_event_header header;
		uint64_t id, lost;
	} record = { { PERF_RECORD_LOST, 0, sizeof(struct made_sample) }, id, lost };
	struct made_sample made;

	memset(&made, 'x', sizeof(made));
	memcpy(&made, &record, sizeof(record));
	put_sample_id(&made, time, id, 1, cpu);
	return made;
}

void made_tracepoints(const struct folder *folder, const struct made_format *formats,
		      size_t nr_formats, const struct made_sample *samples, size_t nr)
{
	struct perfdata_event events[FORMATS_MAX];
	struct perfdata_features *features = NULL;
	const char *names[FORMATS_MAX];
	struct perfdata *pd = NULL;

	put_file(folder->fd, "events/header_page", "page\n");
	put_file(folder->fd, "events/header_event", "event\n");
	for (size_t i = 0; i < nr_formats; i++) {
		put_format(folder, &formats[i]);
		names[i] = formats[i].name;
		events[i] = (struct perfdata_event){
			.attr = { .size = sizeof(struct perf_event_attr),
				  .type = PERF_TYPE_TRACEPOINT,
				  .config = formats[i].id,
				  .sample_type = PERF_SAMPLE_IDENTIFIER | PERF_SAMPLE_IP |
						 PERF_SAMPLE_TID | PERF_SAMPLE_TIME |
						 PERF_SAMPLE_CPU | PERF_SAMPLE_RAW,
				  .sample_id_all = 1,
				  .write_backward = 1 },
			.name = formats[i].name,
			.ids = &formats[i].id,
			.nr_ids = 1,
		};
	}
	assert_int_equal(perfdata_features_new(&features, folder->fd, "1", NULL, 0), 0);
	assert_int_equal(perfdata_features_add_tracing(features, folder->fd, names, nr_formats), 0);
	assert_int_equal(perfdata_create(&pd, folder->fd, "perf.data", events, nr_formats), 0);
	assert_int_equal(perfdata_write(pd, samples, nr * sizeof(*samples)), 0);
	assert_int_equal(perfdata_finish(pd, features, 0, 0), 0);
	perfdata_free(pd);
	perfdata_features_free(features);
}

struct tracepoints *made_tracepoints_open(const struct folder *folder,
					  const struct made_format *formats, size_t nr_formats,
					  const struct made_sample *samples, size_t nr,
					  const char *kallsyms)
{
	const struct sample_window window = { .end = UINT64_MAX };
	struct tracepoints *tracepoints = NULL;
	_cleanup_free_ char *data = NULL;
	char *why = NULL;

	made_tracepoints(folder, formats, nr_formats, samples, nr);
	put_file(folder->fd, "perf.data/kcore_dir/kallsyms", kallsyms);
	assert_int_not_equal(asprintf(&data, "%s/perf.data", folder->path), -1);
	assert_int_equal(tracepoints_open(&tracepoints, data, &window, &why), 0);
	return tracepoints;
}
