// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
/* The recorder `events`: tracepoints and samples of the watched CPUs in overwrite rings. Works on
 * any machine. */
#include <fcntl.h>
#include <sched.h>
#include <string.h>
#include <time.h>

#include <json-c/json.h>

#include "machine/base.h"
#include "perfdata.h"
#include "recorder/events/events.h"
#include "recorder/recorder.h"

#define BUFFER_DEFAULT (4ULL << 20)

struct events_recorder {
	struct recorder base;
	struct event_list list;
	struct ring_event *ring_events; /* as many as in the list */
	struct rings *rings;
	struct task_names *names;
	struct senders *senders; /* NULL: not recorded */
	size_t nr_cpus;
	uint64_t buffer_size;
	bool has_callchains; /* any task's user space is sampled: record all mappings */
	struct perfdata_features *features;
	int root_fd;
	struct kernel_symbols symbols; /* of write() only */
};

struct snapshot {
	const struct events_recorder *events;
	struct ring_copies *names, *senders;
	uint64_t *ids;		   /* event ids, from rings_ids() */
	struct ring_copy copies[]; /* one per watched CPU */
};

static struct events_recorder *to_events_recorder(struct recorder *recorder)
{
	return (struct events_recorder *)recorder;
}

static void events_recorder_free(struct recorder *recorder)
{
	struct events_recorder *events = to_events_recorder(recorder);

	task_names_free(events->names);
	senders_free(events->senders);
	rings_free(events->rings);
	perfdata_features_free(events->features);
	event_list_close(&events->list);
	free(events->ring_events);
	closep(&events->root_fd);
	kernel_symbols_close(&events->symbols);
	free(events);
}

/* Attributes of all events. The clock is that of the spike. Without PERIOD, a sched_stat event is
 * repeated for each nanosecond that it counts. */
static void events_set_attr(struct perf_event_attr *attr)
{
	attr->size = sizeof(*attr);
	attr->sample_type |= RECORDS_SAMPLE_TYPE | PERF_SAMPLE_PERIOD;
	attr->read_format = PERF_FORMAT_ID;
	attr->sample_id_all = 1;
	attr->write_backward = 1;
	attr->use_clockid = 1;
	attr->clockid = CLOCK_MONOTONIC;
}

static struct perf_event_attr events_attr_of_event(const struct event *event, bool call_graph)
{
	struct perf_event_attr attr = event->sampled;

	if (event->id) {
		attr.type = PERF_TYPE_TRACEPOINT;
		attr.config = event->id;
		attr.sample_period = 1;
		attr.sample_type = PERF_SAMPLE_RAW | (call_graph ? PERF_SAMPLE_CALLCHAIN : 0);
	} else {
		attr.sample_type = PERF_SAMPLE_CALLCHAIN;
		attr.exclude_callchain_user &= !call_graph;
	}
	if (event->id && !call_graph && !strcmp(event->name, RECORDS_SWITCH)) {
		attr.sample_type |= PERF_SAMPLE_CALLCHAIN;
		attr.sample_max_stack = records_max_stack(RECORDS_SWITCH_FRAMES);
	}
	if (event->id && !strcmp(event->name, RECORDS_SWITCH))
		records_add_user_regs(&attr);
	events_set_attr(&attr);
	return attr;
}

static int events_make_attrs(struct events_recorder *events, bool call_graph)
{
	const struct event_list *list = &events->list;

	events->ring_events = calloc(list->nr, sizeof(*events->ring_events));
	if (!events->ring_events)
		return -ENOMEM;
	for (size_t i = 0; i < list->nr; i++) {
		struct ring_event *event = &events->ring_events[i];

		event->attr = events_attr_of_event(&list->events[i], call_graph);
		events->has_callchains |= call_graph || !list->events[i].id;
		event->name = list->events[i].name;
		event->filter = list->events[i].filter;
		event->optional = list->events[i].optional;
	}
	return 0;
}

static int events_read_features(struct events_recorder *events,
				const struct recorder_config *config, int tracefs_fd,
				const struct log *log)
{
	_cleanup_free_ const char **names =
		calloc(events->list.nr + SENDERS_EVENTS_MAX, sizeof(*names));
	const struct ring_event *senders;
	size_t nr = 0, nr_senders;
	int err;

	if (!names)
		return -ENOMEM;
	for (size_t i = 0; i < events->list.nr; i++) {
		if (events->list.events[i].id)
			names[nr++] = events->list.events[i].name;
	}
	senders = senders_ring_events(events->senders, &nr_senders);
	for (size_t i = 0; i < nr_senders; i++)
		names[nr++] = senders[i].name;
	err = perfdata_features_new(&events->features, events->root_fd, perf_poke__version(),
				    config->opts->argv, config->opts->argc);
	if (!err)
		err = perfdata_features_add_tracing(events->features, tracefs_fd, names, nr);
	return err ? log_error(log, err, "cannot read the formats of the events: %s",
			       strerror(-err))
		   : 0;
}

static int events_recorder_open(struct recorder **ret, const struct recorder_config *config,
				const struct log *log)
{
	_cleanup_close_ int tracefs_fd = tracefs_open();
	struct perf_event_attr attr = { .sample_type = PERF_SAMPLE_RAW, .sample_period = 1 };
	const struct perf_poke_opts *opts = config->opts;
	struct events_recorder *events;
	size_t pages = rings_pages_for_size(opts->buffer_size ? opts->buffer_size : BUFFER_DEFAULT);
	int err;

	if (tracefs_fd < 0)
		return log_error(log, tracefs_fd,
				 "no tracefs: mount -t tracefs tracefs /sys/kernel/tracing (%s)",
				 tracefs_strerror(tracefs_fd));
	events = calloc(1, sizeof(*events));
	if (!events)
		return -ENOMEM;
	events->base.ops = &events_recorder;
	events->buffer_size = pages * sysconf(_SC_PAGESIZE);
	events->nr_cpus = config->nr_cpus;
	kernel_symbols_init(&events->symbols, config->work_fd);
	events->root_fd = open("/", O_PATH | O_DIRECTORY | O_CLOEXEC);
	err = events->root_fd < 0 ? -errno
				  : event_list_open(&events->list, opts->events, opts->nr_events,
						    tracefs_fd, events->root_fd, log);
	if (!err && config->osnoise && !opts->nr_events)
		err = event_list_add_osnoise(&events->list, tracefs_fd);
	if (!err && !opts->no_samples)
		err = event_list_add_samples(&events->list, events->root_fd, config->cpus,
					     config->nr_cpus, log);
	if (!err)
		err = events_make_attrs(events, opts->call_graph);
	events_set_attr(&attr);
	if (!err)
		err = senders_open(&events->senders, &attr, config,
				   event_list_senders(&events->list), tracefs_fd, log);
	if (!err)
		err = events_read_features(events, config, tracefs_fd, log);
	if (!err)
		err = rings_open(&events->rings, events->ring_events, events->list.nr, config->cpus,
				 config->nr_cpus, pages, log);
	if (!err)
		err = rings_reserve_copy(events->rings);
	attr.mmap = attr.mmap2 = events->has_callchains;
	/* perf sched timehist shows callchains only if all events have them. */
	if (opts->call_graph)
		attr.sample_type |= PERF_SAMPLE_CALLCHAIN;
	if (!err)
		err = task_names_open(&events->names, &attr, events->root_fd, log);
	if (err) {
		events_recorder_free(&events->base);
		return err;
	}
	*ret = &events->base;
	return 0;
}

static int events_freeze_rings(struct recorder *recorder, const struct perf_poke_spike *spike)
{
	return rings_pause(to_events_recorder(recorder)->rings, spike->cpu, spike->ran_cpu);
}

static int events_resume_rings(struct recorder *recorder)
{
	return rings_resume(to_events_recorder(recorder)->rings);
}

static int events_cpu_online(struct recorder *recorder, int cpu)
{
	struct events_recorder *events = to_events_recorder(recorder);
	int err = rings_reopen_cpu(events->rings, cpu);
	int names_err = task_names_cpu_online(events->names, cpu);
	int senders_err = senders_cpu_online(events->senders, cpu);

	return err ? err : names_err ? names_err : senders_err;
}

static void events_snapshot_free(struct snapshot *snapshot)
{
	if (!snapshot)
		return;
	for (size_t i = 0; i < snapshot->events->nr_cpus; i++)
		rings_free_copy(snapshot->events->rings, &snapshot->copies[i]);
	ring_copies_free(snapshot->names);
	ring_copies_free(snapshot->senders);
	free(snapshot->ids);
	free(snapshot);
}

static int events_copy_rings(struct recorder *recorder, struct snapshot **ret)
{
	struct events_recorder *events = to_events_recorder(recorder);
	struct snapshot *snapshot;
	size_t nr_ids;
	int err;

	snapshot = calloc(1, sizeof(*snapshot) + events->nr_cpus * sizeof(snapshot->copies[0]));
	if (!snapshot)
		return -ENOMEM;
	snapshot->events = events;
	snapshot->ids = rings_ids(events->rings, &nr_ids);
	err = snapshot->ids ? rings_copy_paused(events->rings, snapshot->copies) : -ENOMEM;
	if (err) {
		events_snapshot_free(snapshot);
		return err;
	}
	*ret = snapshot;
	return 0;
}

static int events_write_records(struct events_recorder *events, struct perfdata *pd,
				const struct snapshot *snapshot, int spike_cpu,
				struct snapshot_facts *facts)
{
	uint64_t first_ns = UINT64_MAX, last_ns = 0;
	struct perfdata_buf round = {};
	int err = 0;

	for (size_t i = 0; i < events->nr_cpus && !err; i++) {
		const struct ring_copy *copy = &snapshot->copies[i];
		struct records_facts ring = {};

		err = records_write_ring(pd, copy, &ring);
		facts->events += ring.samples;
		facts->lost += ring.lost;
		if (!ring.first_ns)
			continue;
		if (copy->cpu == spike_cpu || (spike_cpu < 0 && ring.first_ns > facts->oldest_ns))
			facts->oldest_ns = ring.first_ns;
		first_ns = ring.first_ns < first_ns ? ring.first_ns : first_ns;
		last_ns = ring.last_ns > last_ns ? ring.last_ns : last_ns;
	}
	if (!err)
		err = perfdata_put_finished_round(&round);
	if (!err)
		err = perfdata_write(pd, round.data, round.len);
	perfdata_buf_release(&round);
	return err ? err : perfdata_finish(pd, events->features, first_ns, last_ns);
}

static int events_copy_rest(struct recorder *recorder, struct snapshot *snapshot)
{
	struct events_recorder *events = to_events_recorder(recorder);

	return rings_copy_running(events->rings, snapshot->copies)
		       ?: task_names_copy(events->names, &snapshot->names)
		       ?: senders_copy_rings(events->senders, &snapshot->senders);
}

/* perf script prints a line of each tracepoint if the first one has no stack. */
static size_t events_describe_kinds(const struct snapshot *snapshot,
				    struct perfdata_event *described)
{
	const struct events_recorder *events = snapshot->events;
	size_t nr = 0;

	for (int stacks = 0; stacks < 2; stacks++) {
		const uint64_t *ids = snapshot->ids;

		for (size_t i = 0; i < events->list.nr; i++) {
			const struct ring_event *event = &events->ring_events[i];

			if (!event->opened)
				continue;
			if (!!(event->attr.sample_type & PERF_SAMPLE_CALLCHAIN) == stacks)
				described[nr++] = (struct perfdata_event){ event->attr, event->name,
									   ids, events->nr_cpus };
			ids += events->nr_cpus;
		}
	}
	return nr;
}

static int events_write_perfdata(struct recorder *recorder, struct snapshot *snapshot, int dirfd,
				 const struct perf_poke_spike *spike, struct snapshot_facts *facts)
{
	struct events_recorder *events = to_events_recorder(recorder);
	_cleanup_free_ struct perfdata_event *described = NULL;
	struct spike_processes late = spike_processes(spike);
	struct perfdata *pd;
	size_t nr;
	int err;

	described = calloc(events->list.nr + 2 + SENDERS_EVENTS_MAX, sizeof(*described));
	if (!described)
		return -ENOMEM;
	nr = events_describe_kinds(snapshot, described);
	described[nr++] = task_names_event(events->names, snapshot->names);
	nr += senders_describe(events->senders, snapshot->senders, described + nr);
	described[nr] = spike_sample_event(&described[nr - 1].attr);
	nr++;
	err = perfdata_create(&pd, dirfd, "perf.data", described, nr);
	if (err)
		return err;
	err = task_names_write(events->names, pd, snapshot->names,
			       events->has_callchains ? NULL : late.pids);
	if (!err)
		err = spike_sample_write(pd, spike, spike->time_ns);
	if (!err)
		err = senders_write_records(snapshot->senders, pd, facts);
	if (!err)
		err = events_write_records(events, pd, snapshot, spike->cpu, facts);
	if (!err)
		err = kernel_symbols_write(&events->symbols, pd, events->root_fd);
	facts->size = perfdata_size(pd);
	perfdata_free(pd);
	return err;
}

static void events_describe(const struct recorder *recorder, struct json_object *json)
{
	const struct events_recorder *events = (const struct events_recorder *)recorder;
	struct json_object *list = json_object_new_array();
	const struct ring_event *senders;
	size_t nr_senders;

	json_object_object_add(json, "buffer_size", json_object_new_uint64(events->buffer_size));
	rings_describe(events->ring_events, events->list.nr, list);
	senders = senders_ring_events(events->senders, &nr_senders);
	rings_describe(senders, nr_senders, list);
	json_object_object_add(json, "events", list);
}

static bool events_suits_options(const struct recorder_config *config)
{
	return true;
}

/* Whether the last event is the default sample event. */
static bool samples_default(const struct events_recorder *events)
{
	const struct ring_event *last = &events->ring_events[events->list.nr - 1];

	return last->attr.type != PERF_TYPE_TRACEPOINT && last->opened;
}

/* Whether the kernel reports senders of interrupts, beyond those of queued work. */
static bool senders_have_calls(const struct events_recorder *events)
{
	size_t nr;
	const struct ring_event *senders = senders_ring_events(events->senders, &nr);

	for (size_t i = 0; i < nr; i++) {
		if (senders[i].opened && strncmp(senders[i].name, "workqueue:", 10))
			return true;
	}
	return false;
}

static int events_recorder_probe(struct probe_detail *detail)
{
	const struct log log = probe_detail_log(detail);
	const int cpu = sched_getcpu();
	const struct perf_poke_opts opts = { .buffer_size = 1 };
	const struct recorder_config config = { .opts = &opts, .cpus = &cpu, .nr_cpus = 1 };
	struct recorder *recorder;
	int err = events_recorder_open(&recorder, &config, &log);

	if (err)
		return err;
	probe_set_detail(detail, "%s%s",
			 samples_default(to_events_recorder(recorder))
				 ? "samples " PMU_EVENT_DEFAULT
				   " by NMI, also with interrupts off, but "
				   "not on isolated CPUs (--no-samples)"
				 : "the PMU does not interrupt by NMI: no samples of code with "
				   "interrupts off",
			 senders_have_calls(to_events_recorder(recorder))
				 ? ""
				 : "; who sends interrupts is not recorded (Linux 6.4)");
	events_recorder_free(recorder);
	return 0;
}

const struct recorder_ops events_recorder = {
	.choice = { "events", PERF_POKE_RECORDER_EVENTS,
		    "tracepoints and samples in overwrite rings" },
	.probe = { "events",
		   "needs CONFIG_PERF_EVENTS; sysctl kernel.perf_event_paranoid=-1 or CAP_PERFMON",
		   true, events_recorder_probe },
	.suits = events_suits_options,
	.open = events_recorder_open,
	.freeze = events_freeze_rings,
	.copy = events_copy_rings,
	.resume = events_resume_rings,
	.copy_rest = events_copy_rest,
	.cpu_online = events_cpu_online,
	.write = events_write_perfdata,
	.describe = events_describe,
	.snapshot_free = events_snapshot_free,
	.free = events_recorder_free,
};
