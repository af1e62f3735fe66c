/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/* What the two halves of the recorder `pt` share: recorder.c records, write.c writes. */
#ifndef LIB_RECORDER_PT_RECORDER_H
#define LIB_RECORDER_PT_RECORDER_H

#include "base/tsc.h"
#include "recorder/pt/config.h"
#include "recorder/pt/events.h"
#include "recorder/pt/pool.h"
#include "recorder/recorder.h"
#include "recorder/rings.h"
#include "recorder/sideband.h"
#include "recorder/symbols.h"

struct pt_cpu {
	int cpu;
	bool frozen;	      /* by the controller, to be copied */
	bool sampled;	      /* by the kernel */
	size_t next;	      /* where in its ring the trace ended when it was last copied */
	uint64_t started_tsc; /* not later than the oldest byte of its trace */
};

struct pt_recorder {
	struct recorder base;
	struct pt_config config;
	char *filter;		      /* address filter, resolved; NULL: none */
	enum perf_poke_freeze freeze; /* not AUTO */
	bool freeze_all, raw_rings;
	size_t aux_size;
	uint64_t sample_size, history_size;
	struct perf_event_attr attr; /* of the PT event */
	struct pt_events *events;
	struct tsc_clock clock;
	struct pt_pool *pool; /* of copies of rings */
	struct ring_event switch_event;
	struct rings *switches; /* NULL: not wanted */
	struct sideband *sideband;
	struct perfdata_features *features;
	struct symbols symbols;
	int root_fd;
	size_t nr_cpus;
	struct pt_cpu cpus[];
};

/* The trace of one CPU: bytes of its ring, or a sample that the kernel made of it. */
struct pt_trace {
	size_t index;  /* of the CPU in the recorder */
	uint8_t *data; /* of the recorder's pool */
	struct perf_event_header *sample;
	uint64_t started_tsc;
	bool moved; /* bytes were written since the trace began */
	/* Set by pt_write(): */
	size_t begin;	      /* of what is written */
	uint64_t after_spike; /* bytes of it; UINT64_MAX: not known */
	bool after_spike_exact;
};

struct snapshot {
	struct pt_recorder *pt;
	/* The same moment, when it was taken; perf_ns: 0 where TSC is not perf's clock */
	uint64_t tsc, monotonic_ns, perf_ns;
	struct perf_event_mmap_page clock; /* as it was then */
	uint64_t *ids, *switch_ids;	   /* as pt_events_ids() and rings_ids() give them */
	struct sideband_copy *sideband;
	struct ring_copy *switches;
	size_t nr;
	struct pt_trace traces[];
};

static inline struct pt_recorder *to_pt(struct recorder *recorder)
{
	return (struct pt_recorder *)recorder;
}

/* As recorder_ops says. */
int pt_write(struct recorder *recorder, struct snapshot *snapshot, int dirfd,
	     const struct perf_poke_spike *spike, struct snapshot_facts *facts);
void pt_describe(const struct recorder *recorder, struct json_object *json);
void pt_describe_snapshot(const struct snapshot *snapshot, struct json_object *json);

#endif
