// SPDX-License-Identifier: GPL-2.0-only
#include "events/tracepoints.h"

#include <linux/perf_event.h>
#include <string.h>

#include "array.h"
#include "clock.h"
#include "code/symbols.h"
#include "io.h"
#include "text.h"

struct place {
	uint64_t time, at; /* in the file */
};

struct tracepoints {
	const struct perfdata_file *file;
	struct perfdata_events events;
	struct tracing_data data;
	struct tracepoint_kind *kinds; /* parallel to `events` */
	struct place *places;	       /* of the window's samples, sorted */
	size_t nr, next;
	/* For a folder. */
	struct perfdata_file own;
	char *kallsyms; /* NULL: none, or already read */
	struct symbols symbols;
};

void tracepoints_free(struct tracepoints *tracepoints)
{
	if (!tracepoints)
		return;
	for (size_t i = 0; tracepoints->kinds && i < tracepoints->events.nr; i++) {
		event_format_free(tracepoints->kinds[i].format);
		free(tracepoints->kinds[i].name);
	}
	free(tracepoints->kinds);
	free(tracepoints->places);
	perfdata_events_release(&tracepoints->events);
	tracing_data_release(&tracepoints->data);
	perfdata_unmap(&tracepoints->own);
	free(tracepoints->kallsyms);
	symbols_release(&tracepoints->symbols);
	free(tracepoints);
}

static uint64_t sample_clock_period(const struct perf_event_attr *attr)
{
	if (attr->type != PERF_TYPE_SOFTWARE ||
	    (attr->config != PERF_COUNT_SW_CPU_CLOCK && attr->config != PERF_COUNT_SW_TASK_CLOCK) ||
	    !attr->sample_period)
		return 0;
	return attr->freq ? NSEC_PER_SEC / attr->sample_freq : attr->sample_period;
}

static int read_event_kind(struct tracepoints *tracepoints, size_t i)
{
	const struct perfdata_kind *event = &tracepoints->events.kinds[i];
	struct tracepoint_kind *kind = &tracepoints->kinds[i];
	const struct tracing_format *text = NULL;
	int err = 0;

	kind->clock_ns = sample_clock_period(&event->attr);
	if (event->attr.type == PERF_TYPE_TRACEPOINT)
		text = tracing_data_find(&tracepoints->data, event->attr.config);
	if (text)
		err = event_format_new(&kind->format, &tracepoints->data, text);
	if (err && err != -EINVAL)
		return err;
	/* The name in the format, which matches its fields. */
	kind->name = kind->format ? strfmt("%s:%s", text->system, event_format_name(kind->format))
				  : strdup(event->name ?: "unknown");
	if (!kind->name)
		return -ENOMEM;
	text_make_printable(kind->name);
	return 0;
}

/* Reads the record at an offset, and moves to the next one. False: no record, or no sample. */
static bool read_sample_record(const struct tracepoints *tracepoints, uint64_t *at,
			       struct perfdata_sample *sample)
{
	struct perfdata_record record;

	return perfdata_next(tracepoints->file, at, &record) && record.type == PERF_RECORD_SAMPLE &&
	       perfdata_sample(&tracepoints->events, &record, sample);
}

static int compare_sample_places(const void *a, const void *b)
{
	const struct place *one = a, *other = b;

	return array_compare(one->time, other->time) ?: array_compare(one->at, other->at);
}

static int find_window_samples(struct tracepoints *tracepoints, const struct sample_window *window)
{
	uint64_t at = tracepoints->file->data.offset;

	for (uint64_t before = at;; before = at) {
		struct perfdata_sample sample;
		bool found = read_sample_record(tracepoints, &at, &sample);

		if (at == before)
			break;
		if (!found || sample.time < window->begin || sample.time > window->end)
			continue;
		if (array_grow(&tracepoints->places, tracepoints->nr, sizeof(struct place)))
			return -ENOMEM;
		tracepoints->places[tracepoints->nr++] = (struct place){ sample.time, before };
	}
	if (tracepoints->nr)
		qsort(tracepoints->places, tracepoints->nr, sizeof(struct place),
		      compare_sample_places);
	return 0;
}

/* Frees `tracepoints` on failure. */
static int read_tracepoints(struct tracepoints *tracepoints, const struct sample_window *window,
			    struct tracepoints **ret, char **why)
{
	const char *text = "the table of its events is damaged";
	int err = perfdata_events_read(&tracepoints->events, tracepoints->file);

	if (!err) {
		text = "the formats of its tracepoints are damaged";
		err = tracing_data_read(&tracepoints->data, tracepoints->file);
		if (err == -ENOENT)
			err = 0;
	}
	if (!err) {
		tracepoints->kinds =
			calloc(tracepoints->events.nr + 1, sizeof(*tracepoints->kinds));
		err = tracepoints->kinds ? 0 : -ENOMEM;
	}
	for (size_t i = 0; i < tracepoints->events.nr && !err; i++)
		err = read_event_kind(tracepoints, i);
	err = err ?: find_window_samples(tracepoints, window);
	if (!err) {
		*ret = tracepoints;
		return 0;
	}
	tracepoints_free(tracepoints);
	*why = strdup(err == -EINVAL ? text : strerror(-err));
	return err;
}

int tracepoints_new(struct tracepoints **ret, const struct perfdata_file *file,
		    const struct sample_window *window, char **why)
{
	struct tracepoints *tracepoints = calloc(1, sizeof(*tracepoints));

	if (!tracepoints)
		return -ENOMEM;
	tracepoints->file = file;
	return read_tracepoints(tracepoints, window, ret, why);
}

/* Reads the symbols on first use. Without symbols there are no names. */
const char *tracepoints_function(struct tracepoints *tracepoints, uint64_t address)
{
	const struct symbols_entry *entry;

	if (tracepoints->kallsyms) {
		_cleanup_close_ int fd = regular_open(AT_FDCWD, tracepoints->kallsyms);

		if (fd >= 0 && symbols_of_kallsyms(&tracepoints->symbols, fd))
			tracepoints->symbols = (struct symbols){};
		free(TAKE_PTR(tracepoints->kallsyms));
	}
	entry = symbols_find(&tracepoints->symbols, address);
	return entry ? symbols_name(&tracepoints->symbols, entry) : NULL;
}

bool tracepoints_frame(const struct perfdata_bytes *callchain, uint64_t *at, uint64_t *address)
{
	uint64_t before = PERF_CONTEXT_MAX;

	if (*at >= sizeof(before) && *at <= callchain->size)
		memcpy(&before, callchain->data + *at - sizeof(before), sizeof(before));
	while (*at + sizeof(*address) <= callchain->size) {
		memcpy(address, callchain->data + *at, sizeof(*address));
		*at += sizeof(*address);
		if (*address < PERF_CONTEXT_MAX) {
			*address -= *address && before < PERF_CONTEXT_MAX;
			return true;
		}
		before = *address;
	}
	return false;
}

static int map_folder_data(struct tracepoints *tracepoints, const char *folder)
{
	_cleanup_free_ char *path = strfmt("%s/data", folder);
	_cleanup_close_ int fd = -1;

	tracepoints->kallsyms = strfmt("%s/kcore_dir/kallsyms", folder);
	if (!path || !tracepoints->kallsyms)
		return -ENOMEM;
	fd = regular_open(AT_FDCWD, path);
	return fd < 0 ? fd : perfdata_map(&tracepoints->own, fd);
}

int tracepoints_open(struct tracepoints **ret, const char *folder,
		     const struct sample_window *window, char **why)
{
	struct tracepoints *tracepoints = calloc(1, sizeof(*tracepoints));
	int err = tracepoints ? map_folder_data(tracepoints, folder) : -ENOMEM;

	if (err) {
		tracepoints_free(tracepoints);
		*why = strdup(err == -EINVAL ? "it is not a file of perf" : strerror(-err));
		return err;
	}
	tracepoints->file = &tracepoints->own;
	return read_tracepoints(tracepoints, window, ret, why);
}

bool tracepoints_have_fields(const struct tracepoints *tracepoints)
{
	for (size_t i = 0; i < tracepoints->events.nr; i++) {
		if (tracepoints->kinds[i].format)
			return true;
	}
	return false;
}

bool tracepoints_next(struct tracepoints *tracepoints, struct tracepoint_event *event)
{
	struct perfdata_sample sample;
	uint64_t at, tid;

	if (tracepoints->next == tracepoints->nr)
		return false;
	at = tracepoints->places[tracepoints->next++].at;
	if (!read_sample_record(tracepoints, &at, &sample))
		return false;
	*event = (struct tracepoint_event){
		.kind = &tracepoints->kinds[sample.kind - tracepoints->events.kinds],
		.time = sample.time,
		.cpu = sample.cpu,
		.pid = sample.pid,
		.tid = sample.tid,
		.perf_tid = sample.tid,
		.ip = sample.ip,
		.raw = sample.raw,
		.callchain = sample.callchain,
	};
	if (!tracepoint_number(event, "common_pid", &tid) || (int32_t)tid == event->tid)
		return true;
	event->tid = (int32_t)tid;
	event->pid = -1;
	return true;
}

const struct perfdata_file *tracepoints_file(const struct tracepoints *tracepoints)
{
	return tracepoints->file;
}
