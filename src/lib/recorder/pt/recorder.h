/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/* Shared by the halves of the recorder `pt`: recorder.c records, write.c writes. */
#ifndef LIB_RECORDER_PT_RECORDER_H
#define LIB_RECORDER_PT_RECORDER_H

#include "base/tsc.h"
#include "recorder/pt/config.h"
#include "recorder/pt/events.h"
#include "recorder/pt/pool.h"
#include "recorder/recorder.h"
#include "recorder/rings.h"
#include "recorder/senders.h"
#include "recorder/sideband.h"
#include "recorder/symbols.h"

struct pt_cpu {
	int cpu;
	bool frozen;	      /* stopped by the controller: copy the ring */
	bool sampled;	      /* sampled by the kernel */
	size_t next;	      /* offset after the last copy */
	uint64_t started_tsc; /* TSC at or before the oldest byte of its trace */
};

struct pt_recorder {
	struct recorder base;
	struct pt_config config;
	char *filter;		      /* resolved address filter; NULL: none */
	enum perf_poke_freeze freeze; /* not AUTO */
	bool freeze_all, raw_rings;
	size_t aux_size;
	uint64_t sample_size, history_size;
	struct perf_event_attr attr; /* of the PT event */
	struct pt_events *events;
	struct tsc_clock clock;
	struct pt_pool *pool; /* for copies of rings */
	struct ring_event switch_event;
	struct rings *switches; /* NULL: with no_switch_events */
	struct sideband *sideband;
	struct senders *senders; /* NULL: not recorded */
	struct perfdata_features *features;
	struct symbols symbols;
	int root_fd;
	size_t nr_cpus;
	struct pt_cpu cpus[];
};

/* The trace of one CPU: a copy of its ring, or a sample. */
struct pt_trace {
	size_t index;  /* of pt->cpus */
	uint8_t *data; /* from the pool */
	struct perf_event_header *sample;
	uint64_t started_tsc;
	bool moved; /* bytes were written since the last copy */
	/* Set by pt_write(): */
	size_t begin;	      /* offset of the first byte to write */
	uint64_t after_spike; /* bytes; UINT64_MAX: unknown */
	bool after_spike_exact;
};

struct snapshot {
	struct pt_recorder *pt;
	/* Time of the snapshot on three clocks; perf_ns is 0 if TSC is not perf's clock. */
	uint64_t tsc, monotonic_ns, perf_ns;
	struct perf_event_mmap_page clock; /* conversion at that time */
	uint64_t *ids, *switch_ids;	   /* of pt_events_ids() and rings_ids() */
	struct sideband_copy *sideband, *senders;
	struct ring_copy *switches;
	size_t nr;
	struct pt_trace traces[];
};

static inline struct pt_recorder *to_pt(struct recorder *recorder)
{
	return (struct pt_recorder *)recorder;
}

/* See struct recorder_ops. */
int pt_write(struct recorder *recorder, struct snapshot *snapshot, int dirfd,
	     const struct perf_poke_spike *spike, struct snapshot_facts *facts);
void pt_describe(const struct recorder *recorder, struct json_object *json);
void pt_describe_snapshot(const struct snapshot *snapshot, struct json_object *json);

#endif
