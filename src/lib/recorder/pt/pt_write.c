// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
/* Writes a snapshot of Intel PT as a perf.data that stock perf decodes. */
#include <inttypes.h>
#include <string.h>

#include "io.h"
#include "json_util.h"
#include "pt_packets.h"
#include "recorder/pt/pt.h"
#include "recorder/recorder.h"

static void pt_info_fields(const struct snapshot *snapshot, uint64_t fields[PERFDATA_PT_NR])
{
	const struct pt_recorder *pt = snapshot->pt;
	const struct perf_event_mmap_page *page = &snapshot->clock;
	const struct pt_config *config = &pt->config;

	memset(fields, 0, PERFDATA_PT_NR * sizeof(fields[0]));
	fields[PERFDATA_PT_PMU_TYPE] = config->type;
	fields[PERFDATA_PT_TIME_SHIFT] = page->time_shift;
	fields[PERFDATA_PT_TIME_MULT] = page->time_mult;
	fields[PERFDATA_PT_TIME_ZERO] = page->time_zero;
	fields[PERFDATA_PT_CAP_USER_TIME_ZERO] = tsc_is_perf_clock(page);
	fields[PERFDATA_PT_TSC_BIT] = config->tsc_bit;
	fields[PERFDATA_PT_NORETCOMP_BIT] = config->noretcomp_bit;
	fields[PERFDATA_PT_HAVE_SCHED_SWITCH] =
		pt->switches ? PERFDATA_PT_SWITCH_CPU_WIDE : PERFDATA_PT_SWITCH_NONE;
	fields[PERFDATA_PT_PER_CPU_MMAPS] = 1;
	fields[PERFDATA_PT_MTC_BIT] = config->mtc_bit;
	fields[PERFDATA_PT_MTC_FREQ_BITS] = config->mtc_period_bits;
	fields[PERFDATA_PT_TSC_CTC_N] = config->tsc_ctc_n;
	fields[PERFDATA_PT_TSC_CTC_D] = config->tsc_ctc_d;
	fields[PERFDATA_PT_CYC_BIT] = config->cyc_bit;
	fields[PERFDATA_PT_MAX_NONTURBO_RATIO] = config->max_nonturbo_ratio;
	fields[PERFDATA_PT_CAP_EVENT_TRACE] = config->cap_event_trace;
}

static int pt_write_head(const struct snapshot *snapshot, struct perfdata *pd,
			 const struct perfdata_event *events, size_t nr, bool sampled)
{
	const struct pt_recorder *pt = snapshot->pt;
	uint64_t fields[PERFDATA_PT_NR];
	_cleanup_free_ int *cpus = calloc(pt->nr_cpus, sizeof(*cpus));
	struct perfdata_buf buf = {};
	int err;

	if (!cpus)
		return -ENOMEM;
	for (size_t i = 0; i < pt->nr_cpus; i++)
		cpus[i] = pt->cpus[i].cpu;
	pt_info_fields(snapshot, fields);
	fields[PERFDATA_PT_SNAPSHOT_MODE] = !sampled;
	err = perfdata_put_time_conv(&buf, &snapshot->clock);
	if (!err)
		err = perfdata_put_id_index(&buf, events, nr, cpus);
	if (!err)
		err = perfdata_put_pt_info(&buf, fields, pt->filter);
	return records_write_buf(pd, &buf, err);
}

/* The trace alone. Layout of a sample: header, IDENTIFIER, IP, TID, TIME, CPU, size, trace. */
static const uint8_t *pt_trace_bytes(const struct pt_recorder *pt, const struct pt_trace *trace,
				     size_t *len)
{
	const size_t fields = sizeof(struct perf_event_header) + 5 * sizeof(uint64_t);
	const char *sample = (const char *)trace->sample;
	uint64_t size;

	*len = pt->aux_size;
	if (!sample)
		return trace->data;
	memcpy(&size, sample + fields, sizeof(size));
	*len = size <= trace->sample->size - fields - sizeof(size) ? size : 0;
	return (const uint8_t *)sample + fields + sizeof(size);
}

/* Begins at the first PSB: nothing before it can be decoded. */
static size_t pt_trace_find_begin(const struct pt_recorder *pt, const struct snapshot *snapshot,
				  const struct pt_trace *trace, uint64_t *tsc)
{
	size_t len, begin;
	const uint8_t *bytes = pt_trace_bytes(pt, trace, &len);

	begin = pt_psb_find_begin(bytes, len, trace->started_tsc);
	*tsc = pt_psb_first_tsc(bytes, len, begin);
	/* The CPU is offline, and an earlier capture has all bytes. New bytes without a PSB need
	 * the last PSB before them. */
	if (!trace->sample && !trace->moved && *tsc &&
	    tsc_extend_56_bits(*tsc, snapshot->tsc) < trace->started_tsc) {
		*tsc = 0;
		return len;
	}
	return begin;
}

static int pt_write_trace(const struct pt_recorder *pt, struct perfdata *pd,
			  const struct snapshot *snapshot, const struct pt_trace *trace)
{
	const struct perfdata_auxtrace aux = {
		.index = trace->index,
		.cpu = pt->cpus[trace->index].cpu,
		.reference = snapshot->tsc,
		.parts = { { trace->data + trace->begin, pt->aux_size - trace->begin } },
	};

	if (trace->sample)
		return perfdata_write(pd, trace->sample, trace->sample->size);
	return perfdata_write_auxtrace(pd, &aux);
}

/* perf.data has whole samples. */
static int pt_write_raw_rings(const struct pt_recorder *pt, const struct snapshot *snapshot,
			      int dirfd)
{
	int err = 0;

	for (size_t i = 0; pt->raw_rings && i < snapshot->nr && !err; i++) {
		const struct pt_trace *trace = &snapshot->traces[i];
		_cleanup_close_ int fd = -1;
		char name[32];

		if (trace->sample)
			continue;
		snprintf(name, sizeof(name), "ring.cpu%d", pt->cpus[trace->index].cpu);
		fd = openat(dirfd, name, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
		err = fd < 0 ? -errno : write_all(fd, trace->data, pt->aux_size);
	}
	return err;
}

static int pt_write_traces(const struct pt_recorder *pt, struct perfdata *pd,
			   struct snapshot *snapshot, const struct perf_poke_spike *spike,
			   struct snapshot_facts *facts, uint64_t *first_ns)
{
	int err = 0;

	for (size_t i = 0; i < snapshot->nr && !err; i++) {
		struct pt_trace *trace = &snapshot->traces[i];
		int cpu = pt->cpus[trace->index].cpu;
		uint64_t tsc, perf_ns;
		size_t len;

		pt_trace_bytes(pt, trace, &len);
		trace->begin = pt_trace_find_begin(pt, snapshot, trace, &tsc);
		if (cpu == spike->cpu || (spike->cpu < 0 && !facts->trace_bytes))
			facts->trace_bytes = len - trace->begin;
		err = pt_write_trace(pt, pd, snapshot, trace);
		if (!tsc || !snapshot->perf_ns)
			continue;
		perf_ns = tsc_to_perf_ns(&snapshot->clock, tsc_extend_56_bits(tsc, snapshot->tsc));
		if (perf_ns < *first_ns)
			*first_ns = perf_ns;
		if (cpu == spike->cpu || (spike->cpu < 0 && !facts->oldest_ns))
			facts->oldest_ns = snapshot->monotonic_ns - (snapshot->perf_ns - perf_ns);
	}
	return err;
}

/* The task at the start of each trace: the oldest context switch left it. Without a switch: the
 * interrupted task, or the one that ran before the woken thread. */
static int pt_write_first_tasks(struct perfdata *pd, const struct snapshot *snapshot,
				const struct perf_poke_spike *spike)
{
	int task_cpu = spike->kind == PERF_POKE_TRIGGER_WAKEUP ? spike->ran_cpu : spike->cpu;
	struct perfdata_buf buf = {};
	int err = 0;

	for (size_t i = 0; i < snapshot->nr && !err; i++) {
		const struct pt_trace *trace = &snapshot->traces[i];
		int cpu = snapshot->pt->cpus[trace->index].cpu;
		struct records_task task = {};

		if (snapshot->switches &&
		    records_first_task(&snapshot->switches[trace->index], &task))
			err = perfdata_put_itrace_start(&buf, cpu, task.pid, task.tid);
		else if (cpu == task_cpu)
			err = perfdata_put_itrace_start(&buf, cpu, spike->pid, spike->tid);
	}
	return records_write_buf(pd, &buf, err);
}

static int pt_write_records(struct pt_recorder *pt, struct perfdata *pd, struct snapshot *snapshot,
			    const struct perf_poke_spike *spike, struct snapshot_facts *facts)
{
	struct spike_processes late = spike_processes(spike);
	uint64_t first_ns = snapshot->perf_ns;
	struct records_facts switches = {};
	struct perfdata_buf round = {};
	int err;

	err = task_names_write(pt->names, pd, snapshot->names,
			       pt->config.exclude_user ? late.pids : NULL);
	/* Without perf's clock the spike has no place in the trace. */
	if (!err && snapshot->perf_ns)
		err = spike_sample_write(
			pd, spike, spike->time_ns + snapshot->perf_ns - snapshot->monotonic_ns);
	if (!err)
		err = pt_write_first_tasks(pd, snapshot, spike);
	for (size_t i = 0; snapshot->switches && i < pt->nr_cpus && !err; i++)
		err = records_write_ring(pd, &snapshot->switches[i], &switches);
	if (!err)
		err = senders_write_records(snapshot->stacks, pd, facts);
	if (!err)
		err = senders_write_records(snapshot->senders, pd, facts);
	if (!err)
		err = pt_write_traces(pt, pd, snapshot, spike, facts, &first_ns);
	if (!err)
		err = perfdata_put_finished_round(&round);
	err = records_write_buf(pd, &round, err);
	return err ? err : perfdata_finish(pd, pt->features, first_ns, snapshot->perf_ns);
}

/* Describes the events of the file. The first `indexed` ones have an id per watched CPU. */
static size_t pt_describe_kinds(const struct snapshot *snapshot, bool sampled,
				struct perfdata_event *events, size_t *indexed)
{
	const struct pt_recorder *pt = snapshot->pt;
	size_t nr = 0;

	events[nr++] =
		(struct perfdata_event){ pt->attr, "intel_pt//", snapshot->ids, pt->nr_cpus };
	if (sampled)
		events[nr++] = (struct perfdata_event){ *pt_events_sample_attr(pt->events),
							"bpf_trace:bpf_trace_printk",
							snapshot->ids + pt->nr_cpus, pt->nr_cpus };
	if (pt->switches)
		events[nr++] =
			(struct perfdata_event){ pt->switch_event.attr, pt->switch_event.name,
						 snapshot->switch_ids, pt->nr_cpus };
	*indexed = nr;
	events[nr++] = task_names_event(pt->names, snapshot->names);
	nr += senders_describe(pt->stacks, snapshot->stacks, events + nr);
	nr += senders_describe(pt->senders, snapshot->senders, events + nr);
	events[nr++] = spike_sample_event(&pt->attr);
	return nr;
}

int pt_write_perfdata(struct recorder *recorder, struct snapshot *snapshot, int dirfd,
		      const struct perf_poke_spike *spike, struct snapshot_facts *facts)
{
	struct pt_recorder *pt = to_pt(recorder);
	bool sampled = snapshot->nr && snapshot->traces[0].sample;
	struct perfdata_event events[5 + 2 * SENDERS_EVENTS_MAX];
	struct perfdata *pd;
	size_t nr, indexed;
	int err;

	nr = pt_describe_kinds(snapshot, sampled, events, &indexed);
	err = perfdata_create(&pd, dirfd, "perf.data", events, nr);
	if (err)
		return err;
	err = pt_write_head(snapshot, pd, events, indexed, sampled);
	if (!err)
		err = pt_write_records(pt, pd, snapshot, spike, facts);
	if (!err)
		err = pt_write_raw_rings(pt, snapshot, dirfd);
	if (!err)
		err = kernel_symbols_write(&pt->symbols, pd, pt->root_fd);
	if (!err && !pt->config.exclude_user)
		err = kernel_symbols_write_vdso(dirfd);
	facts->size = perfdata_size(pd);
	perfdata_free(pd);
	return err;
}

void pt_describe_recorder(const struct recorder *recorder, struct json_object *json)
{
	const struct pt_recorder *pt = (const struct pt_recorder *)recorder;

	struct json_object *list = json_object_new_array();
	const struct ring_event *events;
	size_t nr;

	json_add_u64(json, "buffer_size", pt->aux_size);
	events = senders_ring_events(pt->stacks, &nr);
	rings_describe(events, nr, list);
	events = senders_ring_events(pt->senders, &nr);
	rings_describe(events, nr, list);
	json_add(json, "events", list);
	json_add_text(json, "freeze", pt_freeze_name(pt->freeze));
	json_add(json, "config", json_address(pt->config.config));
	json_add_bool(json, "kcore", !pt->symbols.kcore_error);
}

void pt_describe_snapshot(const struct snapshot *snapshot, struct json_object *json)
{
	struct json_object *clock = json_object_new_object();
	struct json_object *traces = json_object_new_array();

	json_add_u64(clock, "monotonic_ns", snapshot->monotonic_ns);
	json_add_known(clock, "perf_ns", snapshot->perf_ns, 0);
	json_add_u64(clock, "tsc", snapshot->tsc);
	json_add(json, "clock", clock);
	for (size_t i = 0; i < snapshot->nr; i++) {
		const struct pt_trace *trace = &snapshot->traces[i];
		struct json_object *one = json_object_new_object();
		size_t len;

		pt_trace_bytes(snapshot->pt, trace, &len);
		json_add_int(one, "cpu", snapshot->pt->cpus[trace->index].cpu);
		json_add_u64(one, "bytes", len - trace->begin);
		json_object_array_add(traces, one);
	}
	json_add(json, "traces", traces);
}
