// SPDX-License-Identifier: GPL-2.0-only
#include "events/tracepoints.h"

#include <linux/perf_event.h>
#include <string.h>

#include "array.h"
#include "clock.h"
#include "code/symbols.h"
#include "events/ring_events.h"
#include "io.h"
#include "text.h"

struct place {
	uint64_t time, at; /* in the file */
};

/* The ring of a CPU, or the one of events of all CPUs. */
struct ring_place {
	int cpu;
	bool of_all_cpus;
	uint64_t last, before; /* times of its last two events; 0: none */
};

struct tracepoints {
	const struct perfdata_file *file;
	struct perfdata_events events;
	struct tracing_data data;
	struct tracepoint_kind *kinds; /* parallel to `events` */
	struct place *places;	       /* of the window's samples, sorted */
	size_t nr, next;
	struct tracepoint_gap *gaps; /* sorted */
	size_t nr_gaps;
	/* For a folder. */
	struct perfdata_file own;
	char *kallsyms; /* NULL: none, or already read */
	struct symbols symbols;
	struct ring_events *ring; /* of a trace.dat, instead of all of the above but `own` */
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
	free(tracepoints->gaps);
	perfdata_events_release(&tracepoints->events);
	tracing_data_release(&tracepoints->data);
	perfdata_unmap(&tracepoints->own);
	free(tracepoints->kallsyms);
	symbols_release(&tracepoints->symbols);
	ring_events_free(tracepoints->ring);
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

static struct tracepoint_kind *sample_kind(const struct tracepoints *tracepoints,
					   const struct perfdata_sample *sample)
{
	return &tracepoints->kinds[sample->kind - tracepoints->events.kinds];
}

static int compare_sample_places(const void *a, const void *b)
{
	const struct place *one = a, *other = b;

	return array_compare(one->time, other->time) ?: array_compare(one->at, other->at);
}

bool tracepoint_is_of_all_cpus(const struct tracepoint_kind *kind)
{
	static const char *const names[] = {
		"sched:sched_waking", "sched:sched_migrate_task",	"ipi:ipi_send",
		"csd:csd_queue",      "workqueue:workqueue_queue_work",
	};

	for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
		if (has_prefix(kind->name, names[i]))
			return true;
	}
	return false;
}

struct ring_places {
	struct ring_place *list;
	size_t nr, current; /* a file has one ring after the other */
};

static struct ring_place *ring_place_of(struct ring_places *rings, int cpu, bool of_all_cpus)
{
	for (size_t i = 0; i < rings->nr; i++) {
		size_t at = (rings->current + i) % rings->nr;

		if (rings->list[at].cpu != cpu || rings->list[at].of_all_cpus != of_all_cpus)
			continue;
		rings->current = at;
		return &rings->list[at];
	}
	if (array_grow(&rings->list, rings->nr, sizeof(*rings->list)))
		return NULL;
	rings->current = rings->nr;
	rings->list[rings->nr] = (struct ring_place){ .cpu = cpu, .of_all_cpus = of_all_cpus };
	return &rings->list[rings->nr++];
}

/* The kernel writes the record of lost events and then the next event. In a ring that is written
 * backward that event is the older one, and comes first in the file. */
static int add_tracepoint_gap(struct tracepoints *tracepoints, const struct ring_place *ring,
			      const struct perfdata_sample *lost)
{
	bool backward = lost->kind->attr.write_backward;
	const struct tracepoint_gap gap = {
		.begin = backward ? ring->before : ring->last,
		.end = backward ? ring->last : lost->time,
		.kind = sample_kind(tracepoints, lost),
		.cpu = lost->cpu,
	};

	/* With nothing before it, the recording begins there. */
	if (!gap.begin || gap.end < gap.begin)
		return 0;
	if (array_grow(&tracepoints->gaps, tracepoints->nr_gaps, sizeof(gap)))
		return -ENOMEM;
	tracepoints->gaps[tracepoints->nr_gaps++] = gap;
	return 0;
}

static int compare_gaps(const void *a, const void *b)
{
	const struct tracepoint_gap *one = a, *other = b;

	return array_compare(one->begin, other->begin) ?: array_compare(one->end, other->end);
}

static int read_window_record(struct tracepoints *tracepoints, const struct sample_window *window,
			      struct ring_places *rings, uint64_t at,
			      const struct perfdata_record *record)
{
	struct perfdata_sample sample;
	struct ring_place *ring;

	if ((record->type != PERF_RECORD_SAMPLE && record->type != PERF_RECORD_LOST) ||
	    !perfdata_sample(&tracepoints->events, record, &sample))
		return 0;
	ring = ring_place_of(rings, sample.cpu,
			     tracepoint_is_of_all_cpus(sample_kind(tracepoints, &sample)));
	if (!ring)
		return -ENOMEM;
	if (record->type == PERF_RECORD_LOST)
		return add_tracepoint_gap(tracepoints, ring, &sample);
	/* The stacks at the spike are in no ring. */
	if (strcmp(sample_kind(tracepoints, &sample)->name, "spike") != 0)
		*ring = (struct ring_place){ ring->cpu, ring->of_all_cpus, sample.time,
					     ring->last };
	if (sample.time < window->begin || sample.time > window->end)
		return 0;
	if (array_grow(&tracepoints->places, tracepoints->nr, sizeof(struct place)))
		return -ENOMEM;
	tracepoints->places[tracepoints->nr++] = (struct place){ sample.time, at };
	return 0;
}

static int find_window_samples(struct tracepoints *tracepoints, const struct sample_window *window)
{
	uint64_t at = tracepoints->file->data.offset, before = at;
	struct ring_places rings = { 0 };
	struct perfdata_record record;
	int err = 0;

	for (; !err && perfdata_next(tracepoints->file, &at, &record); before = at)
		err = read_window_record(tracepoints, window, &rings, before, &record);
	free(rings.list);
	if (tracepoints->nr)
		qsort(tracepoints->places, tracepoints->nr, sizeof(struct place),
		      compare_sample_places);
	if (tracepoints->nr_gaps)
		qsort(tracepoints->gaps, tracepoints->nr_gaps, sizeof(*tracepoints->gaps),
		      compare_gaps);
	return err;
}

const struct tracepoint_gap *tracepoints_gaps(const struct tracepoints *tracepoints, size_t *nr)
{
	*nr = tracepoints->nr_gaps;
	return tracepoints->gaps;
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

	if (tracepoints->ring)
		return ring_events_function(tracepoints->ring, address);
	if (tracepoints->kallsyms) {
		_cleanup_close_ int fd = regular_open(AT_FDCWD, tracepoints->kallsyms);

		if (fd >= 0 && symbols_of_kallsyms(&tracepoints->symbols, fd))
			tracepoints->symbols = (struct symbols){};
		free(TAKE_PTR(tracepoints->kallsyms));
	}
	entry = symbols_find(&tracepoints->symbols, address);
	return entry ? symbols_name(&tracepoints->symbols, entry) : NULL;
}

bool tracepoints_string(const struct tracepoints *tracepoints, uint64_t address, char *text,
			size_t size)
{
	const char *string;

	if (!tracepoints->ring)
		return tracing_data_string(&tracepoints->data, address, text, size);
	string = ring_events_string(tracepoints->ring, address);
	snprintf(text, size, "%s", string ?: "");
	return string;
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

int tracepoints_of_trace_dat(struct tracepoints **ret, struct trace_dat *dat)
{
	_cleanup_free_ struct tracepoints *tracepoints = calloc(1, sizeof(*tracepoints));
	int err;

	if (!tracepoints) {
		trace_dat_free(dat);
		return -ENOMEM;
	}
	err = ring_events_new(&tracepoints->ring, dat);
	if (err)
		return err;
	tracepoints->file = &tracepoints->own;
	*ret = TAKE_PTR(tracepoints);
	return 0;
}

int tracepoints_open(struct tracepoints **ret, const char *folder,
		     const struct sample_window *window, char **why)
{
	const struct trace_dat_opts opts = { .path = folder,
					     .begin = window->begin,
					     .end = window->end };
	struct tracepoints *tracepoints;
	struct trace_dat *dat;
	int err;

	if (has_suffix(folder, "/" TRACE_DAT_NAME))
		return trace_dat_read(&dat, &opts, why) ?: tracepoints_of_trace_dat(ret, dat);
	tracepoints = calloc(1, sizeof(*tracepoints));
	err = tracepoints ? map_folder_data(tracepoints, folder) : -ENOMEM;
	if (err) {
		tracepoints_free(tracepoints);
		*why = strdup(err == -EINVAL ? "it is not a file of perf" : strerror(-err));
		return err;
	}
	tracepoints->file = &tracepoints->own;
	return read_tracepoints(tracepoints, window, ret, why);
}

enum ring_functions tracepoints_functions(const struct tracepoints *tracepoints)
{
	return tracepoints->ring ? ring_events_functions(tracepoints->ring) : RING_NO_FUNCTIONS;
}

bool tracepoints_task(const struct tracepoints *tracepoints, size_t n, int *tid, const char **comm)
{
	return tracepoints->ring && ring_events_task(tracepoints->ring, n, tid, comm);
}

bool tracepoints_have_fields(const struct tracepoints *tracepoints)
{
	if (tracepoints->ring)
		return true;
	for (size_t i = 0; i < tracepoints->events.nr; i++) {
		if (tracepoints->kinds[i].format)
			return true;
	}
	return false;
}

bool tracepoints_next(struct tracepoints *tracepoints, struct tracepoint_event *event)
{
	struct perfdata_record record;
	struct perfdata_sample sample;
	uint64_t at, tid;

	if (tracepoints->ring)
		return ring_events_next(tracepoints->ring, event);
	if (tracepoints->next == tracepoints->nr)
		return false;
	at = tracepoints->places[tracepoints->next++].at;
	if (!perfdata_next(tracepoints->file, &at, &record) ||
	    !perfdata_sample(&tracepoints->events, &record, &sample))
		return false;
	*event = (struct tracepoint_event){
		.kind = sample_kind(tracepoints, &sample),
		.time = sample.time,
		.cpu = sample.cpu,
		.pid = sample.pid,
		.tid = sample.tid,
		.perf_tid = sample.tid,
		.ip = sample.ip,
		.raw = sample.raw,
		.callchain = sample.callchain,
	};
	if (sample.user_regs.size >= 2 * sizeof(uint64_t)) {
		memcpy(&event->call_argument, sample.user_regs.data, sizeof(uint64_t));
		memcpy(&event->call_ip,
		       sample.user_regs.data + sample.user_regs.size - sizeof(uint64_t),
		       sizeof(uint64_t));
	}
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
