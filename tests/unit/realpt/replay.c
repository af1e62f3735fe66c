// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
#include "replay.h"

#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "capture/capture.h"
#include "pt_packets.h"
#include "recorder/pt/pt.h"

/* The perf tool's: struct perf_file_header, and records that are not the kernel's. */
#define HEADER_ATTR_SIZE 16
#define RECORD_USER 64
#define INFO_PRIV 16

/* Of the TSC */
#define BETWEEN_REPEATED (1 << 23)
#define AFTER_THE_TRACE (1 << 24)
#define SPIKE_AFTER 100

static void must(bool fine)
{
	if (!fine)
		abort();
}

static uint64_t u64_at(const uint8_t *at)
{
	uint64_t value;

	memcpy(&value, at, sizeof(value));
	return value;
}

/* Intel PT is the first event. */
static const uint8_t *first_attr(const struct replay *replay)
{
	return replay->file.bytes + replay->file.attrs.offset;
}

static void read_attrs(struct replay *replay)
{
	const uint8_t *bytes = replay->file.bytes;
	uint64_t step = u64_at(bytes + HEADER_ATTR_SIZE);

	for (uint64_t at = 0; at < replay->file.attrs.size; at += step) {
		const uint8_t *section = first_attr(replay) + at + step - 2 * sizeof(uint64_t);
		size_t nr = u64_at(section + 8) / sizeof(uint64_t);

		must(replay->nr_ids + nr <= ARRAY_SIZE(replay->ids));
		memcpy(replay->ids + replay->nr_ids, bytes + u64_at(section),
		       nr * sizeof(uint64_t));
		replay->nr_ids += nr;
	}
}

static void read_records(struct replay *replay)
{
	uint64_t at = replay->file.data.offset;
	struct perfdata_record record;

	while (perfdata_next(&replay->file, &at, &record)) {
		struct replay_trace *trace = &replay->traces[replay->nr];

		if (record.type == PERFDATA_RECORD_AUXTRACE_INFO)
			replay->info = record.bytes + INFO_PRIV;
		if (record.type != PERFDATA_RECORD_AUXTRACE)
			continue;
		must(replay->nr < REPLAY_TRACES);
		memcpy(&trace->cpu, record.bytes + 40, sizeof(trace->cpu));
		trace->len = record.trace_size;
		trace->bytes = malloc(trace->len + 1);
		must(trace->bytes);
		memcpy(trace->bytes, record.trace, trace->len);
		replay->nr++;
	}
	must(replay->info && replay->nr);
}

void replay_open(struct replay *replay, const char *path)
{
	_cleanup_close_ int fd = open(path, O_RDONLY | O_CLOEXEC);

	*replay = (struct replay){ .started_tsc = 1 };
	if (fd < 0 || perfdata_map(&replay->file, fd)) {
		fprintf(stderr, "%s: is no perf.data\n", path);
		exit(1);
	}
	read_attrs(replay);
	read_records(replay);
}

void replay_close(struct replay *replay)
{
	for (size_t i = 0; i < replay->nr; i++)
		free(replay->traces[i].bytes);
	perfdata_unmap(&replay->file);
}

/* The next TSC packet at or after `at`, or the end. */
static size_t find_tsc(const struct replay_trace *trace, size_t at, struct pt_packet *packet)
{
	struct pt_psb psb;

	while (at < trace->len) {
		if (pt_packet_read(trace->bytes + at, trace->len - at, 0, packet)) {
			if (packet->type == PT_PACKET_TSC)
				return at;
			at += packet->len;
		} else if (pt_psb_find_timed(trace->bytes, trace->len, at + 1, &psb)) {
			at = psb.offset;
		} else {
			break;
		}
	}
	return trace->len;
}

static size_t first_point(const struct replay_trace *trace)
{
	struct pt_psb psb;

	return pt_psb_find_timed(trace->bytes, trace->len, 0, &psb) ? psb.offset : trace->len;
}

static uint64_t last_tsc(const struct replay_trace *trace)
{
	struct pt_packet packet = {};
	uint64_t tsc = 0;

	for (size_t at = first_point(trace); (at = find_tsc(trace, at, &packet)) < trace->len;
	     at += packet.len)
		tsc = packet.value;
	return tsc;
}

static void repeat_trace(struct replay_trace *trace, unsigned int times)
{
	size_t len = trace->len, first = first_point(trace);
	uint64_t period =
		last_tsc(trace) - pt_psb_first_tsc(trace->bytes, len, 0) + BETWEEN_REPEATED;

	trace->bytes = realloc(trace->bytes, len * times);
	must(trace->bytes);
	for (unsigned int i = 1; i < times; i++) {
		struct replay_trace one = { .bytes = trace->bytes + len * i, .len = len };
		struct pt_packet packet;

		memcpy(one.bytes, trace->bytes, len);
		for (size_t at = first; (at = find_tsc(&one, at, &packet)) < len;
		     at += packet.len) {
			packet.value += period * i;
			memcpy(one.bytes + at + 1, &packet.value, packet.len - 1);
		}
	}
	trace->len = len * times;
}

void replay_repeat(struct replay *replay, unsigned int times)
{
	for (size_t i = 0; i < replay->nr; i++)
		repeat_trace(&replay->traces[i], times);
}

void replay_forget_times(struct replay *replay)
{
	for (size_t i = 0; i < replay->nr; i++) {
		struct replay_trace *trace = &replay->traces[i];
		struct pt_packet packet;

		for (size_t at = first_point(trace);
		     (at = find_tsc(trace, at, &packet)) < trace->len; at += packet.len)
			memset(trace->bytes + at, 0, packet.len);
	}
}

/* -- The recording in place of the running kernel */

static const struct replay *replayed;

struct perfdata_event __wrap_task_names_event(const struct task_names *names,
					      const struct ring_copies *copy)
{
	struct perfdata_event event = { .name = "dummy:u",
					.ids = replayed->ids + replayed->nr,
					.nr_ids = replayed->nr_ids - replayed->nr };

	memcpy(&event.attr, first_attr(replayed), PERF_ATTR_SIZE_VER5);
	event.attr.type = PERF_TYPE_SOFTWARE;
	event.attr.config = PERF_COUNT_SW_DUMMY;
	return event;
}

/* Exited tasks continue if a trace is repeated. */
static bool is_sideband(const struct perfdata_record *record)
{
	return record->type < RECORD_USER && record->type != PERF_RECORD_SAMPLE &&
	       record->type != PERF_RECORD_AUX && record->type != PERF_RECORD_EXIT;
}

int __wrap_task_names_write(const struct task_names *names, struct perfdata *pd,
			    const struct ring_copies *copy, int maps_of)
{
	uint64_t at = replayed->file.data.offset;
	struct perfdata_record record;
	int err = 0;

	while (!err && perfdata_next(&replayed->file, &at, &record)) {
		if (is_sideband(&record))
			err = perfdata_write(pd, record.bytes, record.size);
	}
	return err;
}

int __wrap_kernel_symbols_write(struct kernel_symbols *symbols, struct perfdata *pd, int root_fd)
{
	return 0;
}

static void replay_nothing_to_free(struct snapshot *snapshot)
{
}

static const struct recorder_ops replay_ops = {
	.choice = { "pt", PERF_POKE_RECORDER_PT, "" },
	.write = pt_write_perfdata,
	.describe = pt_describe_recorder,
	.describe_snapshot = pt_describe_snapshot,
	.snapshot_free = replay_nothing_to_free,
};

static struct pt_recorder *make_recorder(const struct replay *replay, size_t ring)
{
	struct pt_recorder *pt = calloc(1, sizeof(*pt) + replay->nr * sizeof(pt->cpus[0]));
	uint64_t fields[PERFDATA_PT_NR] = {};

	must(pt);
	memcpy(fields, replay->info, PERFDATA_PT_FILTER_STR_LEN * sizeof(fields[0]));
	memcpy(&pt->attr, first_attr(replay), PERF_ATTR_SIZE_VER5);
	pt->base.ops = &replay_ops;
	pt->config = (struct pt_config){
		.type = pt->attr.type,
		.config = pt->attr.config,
		.tsc_bit = fields[PERFDATA_PT_TSC_BIT],
		.noretcomp_bit = fields[PERFDATA_PT_NORETCOMP_BIT],
		.mtc_bit = fields[PERFDATA_PT_MTC_BIT],
		.mtc_period_bits = fields[PERFDATA_PT_MTC_FREQ_BITS],
		.cyc_bit = fields[PERFDATA_PT_CYC_BIT],
		.max_nonturbo_ratio = fields[PERFDATA_PT_MAX_NONTURBO_RATIO],
		.tsc_ctc_n = fields[PERFDATA_PT_TSC_CTC_N],
		.tsc_ctc_d = fields[PERFDATA_PT_TSC_CTC_D],
	};
	pt->aux_size = ring;
	pt->root_fd = open("/", O_PATH | O_DIRECTORY | O_CLOEXEC);
	pt->nr_cpus = replay->nr;
	for (size_t i = 0; i < replay->nr; i++)
		pt->cpus[i].cpu = replay->traces[i].cpu;
	must(!perfdata_features_new(&pt->features, pt->root_fd, "0", NULL, 0));
	return pt;
}

static void fill_ring(const struct replay_trace *from, size_t end, struct pt_trace *trace,
		      size_t ring)
{
	size_t last = end < from->len ? end : from->len;
	size_t held = last < ring ? last : ring;

	trace->data = calloc(1, ring);
	must(trace->data);
	memcpy(trace->data + ring - held, from->bytes + last - held, held);
}

/* The rings, and clocks just after their end. */
static struct snapshot *make_snapshot(const struct replay *replay, struct pt_recorder *pt,
				      size_t end)
{
	struct snapshot *snapshot =
		calloc(1, sizeof(*snapshot) + replay->nr * sizeof(snapshot->traces[0]));

	must(snapshot);
	snapshot->pt = pt;
	snapshot->ids = (uint64_t *)replay->ids;
	snapshot->nr = replay->nr;
	for (size_t i = 0; i < replay->nr; i++) {
		uint64_t tsc = last_tsc(&replay->traces[i]);

		snapshot->traces[i].index = i;
		snapshot->traces[i].started_tsc = replay->started_tsc;
		snapshot->traces[i].moved = !replay->offline;
		fill_ring(&replay->traces[i], end, &snapshot->traces[i], pt->aux_size);
		snapshot->tsc = tsc > snapshot->tsc ? tsc : snapshot->tsc;
	}
	snapshot->tsc += AFTER_THE_TRACE;
	snapshot->clock = (struct perf_event_mmap_page){
		.time_shift = u64_at(replay->info + PERFDATA_PT_TIME_SHIFT * 8),
		.time_mult = u64_at(replay->info + PERFDATA_PT_TIME_MULT * 8),
		.time_zero = u64_at(replay->info + PERFDATA_PT_TIME_ZERO * 8),
		.cap_user_time_zero = 1,
	};
	snapshot->perf_ns = tsc_to_perf_ns(&snapshot->clock, snapshot->tsc);
	snapshot->monotonic_ns = snapshot->perf_ns;
	return snapshot;
}

static void free_all(struct snapshot *snapshot)
{
	struct pt_recorder *pt = snapshot->pt;

	for (size_t i = 0; i < snapshot->nr; i++)
		free(snapshot->traces[i].data);
	free(snapshot);
	perfdata_features_free(pt->features);
	close(pt->root_fd);
	free(pt);
}

/* The task that ran when the recording began. */
static int find_task(const struct replay *replay)
{
	uint64_t at = replay->file.data.offset;
	struct perfdata_record record;
	int pid = 0;

	while (!pid && perfdata_next(&replay->file, &at, &record)) {
		if (record.type == PERF_RECORD_ITRACE_START)
			memcpy(&pid, record.bytes + sizeof(struct perf_event_header), sizeof(pid));
	}
	return pid;
}

char *replay_capture(const struct replay *replay, const char *output, size_t ring, size_t end)
{
	struct pt_recorder *pt = make_recorder(replay, ring);
	struct snapshot *snapshot = make_snapshot(replay, pt, end);
	uint64_t spike_ns =
		tsc_to_perf_ns(&snapshot->clock, snapshot->tsc - AFTER_THE_TRACE + SPIKE_AFTER);
	int cpus[] = { replay->traces[replay->nr - 1].cpu };
	struct config config = { .cpus = cpus, .nr_cpus = 1, .opts.output = output };
	struct output folder;
	struct capture_env env = { &config, &pt->base, &folder, .workload = "none" };
	struct capture capture = {
		.snapshot = snapshot,
		.spike = { .cpu = cpus[0],
			   .latency_ns = 100000,
			   .time_ns = spike_ns,
			   .expected_ns = spike_ns - 100000,
			   .actual_ns = spike_ns,
			   .pid = find_task(replay),
			   .tid = find_task(replay) },
		.still_ns = snapshot->monotonic_ns,
		.armed_ns = snapshot->monotonic_ns,
	};

	must(!output_open(&folder, output, 0, &(struct log){}));
	replayed = replay;
	capture_begin(&env, &capture, true);
	while (!capture_finish(&env, &capture))
		continue;
	output_close(&folder);
	free_all(snapshot);
	if (capture.error) {
		fprintf(stderr, "no capture: %s\n", strerror(-capture.error));
		exit(1);
	}
	return capture.path;
}
