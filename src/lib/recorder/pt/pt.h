/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/* The recorder `pt`: pt_events.c has the events and the freeze, pt_recorder.c records,
 * pt_snapshot.c copies the rings, pt_write.c writes perf.data. */
#ifndef LIB_RECORDER_PT_H
#define LIB_RECORDER_PT_H

#include <linux/perf_event.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "machine/base.h"
#include "recorder/recorder.h"

int pt_probe_intel_pt(struct probe_detail *detail);

#define PT_FREEZES 3
extern const struct recorder_freeze pt_freezes[PT_FREEZES];
const char *pt_freeze_name(enum perf_poke_freeze freeze);

/* For each watched CPU: the Intel PT event, its AUX ring, and the sibling events by which the
 * kernel pauses, resumes or samples the trace. */
struct pt_events;

struct pt_events_config {
	struct perf_event_attr attr; /* of the PT event */
	const char *filter;	     /* resolved address filter, or NULL */
	const int *cpus;
	size_t nr_cpus;
	size_t aux_size;  /* of each ring; a power of two pages */
	size_t nr_copies; /* ring copies that must also fit in memory */
	/* perf's id of bpf_trace:bpf_trace_printk, and the messages that pause and resume the
	 * trace; 0: the kernel does neither. */
	uint64_t printk_id;
	uint64_t sample_type; /* of samples, in addition to PERF_SAMPLE_AUX */
	const char *pause_message, *resume_message;
	/* If not 0, the pause message samples this many of the newest bytes instead of pausing. */
	size_t sample_size;
};

/* Opens the events without enabling them. What the config points to must outlive them. -EOPNOTSUPP,
 * without a message: this kernel or PMU cannot pause. */
int pt_events_open(struct pt_events **ret, const struct pt_events_config *config,
		   const struct log *log);

/* Reopens the events of a CPU that was offline: the kernel has detached the old ones for good. Not
 * enabled; the ring is empty. On failure the CPU stays without events. */
int pt_events_reopen(struct pt_events *events, size_t cpu);

/* Whether the CPU has events; an offline CPU has. Required by the functions below. */
bool pt_events_has_cpu(const struct pt_events *events, size_t cpu);

int pt_events_enable(struct pt_events *events, size_t cpu);
/* Stops the trace, so that the kernel updates aux_head. */
int pt_events_disable(struct pt_events *events, size_t cpu);

/* Copies the ring, oldest byte first, and returns the offset of the next byte. The event must be
 * disabled. */
size_t pt_events_copy_ring(const struct pt_events *events, size_t cpu, uint8_t *copy);

/* Takes the newest sample since the last call: a whole record, which the caller frees. -ENODATA:
 * none. */
int pt_events_take_sample(struct pt_events *events, size_t cpu, void **record);

/* Attributes of the sample event. */
const struct perf_event_attr *pt_events_sample_attr(const struct pt_events *events);

/* Copies the kernel's ids, for the caller to free: one per CPU of the PT events, then one per CPU
 * of the sample events. NULL: no memory. */
uint64_t *pt_events_ids(const struct pt_events *events);

void pt_events_free(struct pt_events *events);

/* Address filters of Intel PT: the syntax of `perf record --filter`, resolved to addresses. */

/* Resolves `filter|tracestop|stop SYM [#N|#g] [/ SYM or SIZE]`, several separated by commas or
 * spaces, to the form of the kernel and perf's decoder: `filter 0xADDRESS/0xSIZE`. The caller frees
 * it. max: address ranges of the PMU. -EINVAL, or -ENOENT for a missing symbol, with a message that
 * quotes the filter. */
int addr_filter_resolve(char **ret, const char *text, unsigned int max, const struct log *log);

/* Why the kernel may refuse a resolved filter with EOPNOTSUPP, and a remedy. */
const char *addr_filter_unsupported(const char *resolved);

/* Parses an event such as `intel_pt/cyc,noretcomp/k` into fields of perf_event_attr, by the PMU's
 * folder in sysfs. */
#define PT_PMU "intel_pt"
#define PT_PMU_DIR "/sys/bus/event_source/devices/" PT_PMU

struct pt_config {
	uint32_t type;
	uint64_t config;
	bool exclude_user, exclude_kernel;
	/* Masks of config for the decoder; 0: not in this PMU. */
	uint64_t tsc_bit, noretcomp_bit, mtc_bit, mtc_period_bits, cyc_bit;
	/* Of this CPU. */
	uint64_t max_nonturbo_ratio, tsc_ctc_n, tsc_ctc_d, cap_event_trace;
	unsigned int nr_addr_filters;
};

/* Whether the event is intel_pt or intel_pt/.../, with or without modifiers. */
bool pt_config_is_pt(const char *event);

/* dirfd: the PMU's folder. event NULL: cyc (if supported), noretcomp, kernel only. Other terms get
 * perf's defaults. -EINVAL, with a message: a term is unknown, out of range or unsupported. */
int pt_config_parse(struct pt_config *config, int dirfd, const char *event, const struct log *log);

/* Memory for ring copies, faulted in beforehand: page faults take much longer than the copy, and
 * the session is blind until it is done. */
struct pt_pool;

/* Keeps nr (0 or more) buffers of `size` bytes. */
int pt_pool_new(struct pt_pool **ret, size_t nr, size_t size);

/* A kept buffer; a new one if all are in use. NULL: no memory. */
uint8_t *pt_pool_take(struct pt_pool *pool);

/* Any thread, even while another takes. NULL is ignored. */
void pt_pool_give_back(struct pt_pool *pool, uint8_t *buffer);

/* All buffers must have been given back. NULL is ignored. */
void pt_pool_free(struct pt_pool *pool);

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
	struct perf_event_attr attr; /* of the PT event */
	struct pt_events *events;
	struct tsc_clock clock;
	struct pt_pool *pool; /* for copies of rings */
	struct ring_event switch_event;
	struct rings *switches; /* NULL: with no_switch_events */
	struct senders *stacks; /* of task switches; NULL: not recorded, like the next */
	struct task_names *names;
	struct senders *senders;
	struct perfdata_features *features;
	struct kernel_symbols symbols;
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
	/* Set by pt_write_perfdata(): */
	size_t begin; /* offset of the first byte to write */
};

struct snapshot {
	struct pt_recorder *pt;
	/* Time of the snapshot on three clocks; perf_ns is 0 if TSC is not perf's clock. */
	uint64_t tsc, monotonic_ns, perf_ns;
	struct perf_event_mmap_page clock; /* conversion at that time */
	uint64_t *ids, *switch_ids;	   /* of pt_events_ids() and rings_ids() */
	struct ring_copies *names, *senders, *stacks;
	struct ring_copy *switches;
	size_t nr;
	struct pt_trace traces[];
};

static inline struct pt_recorder *to_pt(struct recorder *recorder)
{
	return (struct pt_recorder *)recorder;
}

/* See struct recorder_ops. */
int pt_copy_snapshot(struct recorder *recorder, struct snapshot **ret);
int pt_copy_rest(struct recorder *recorder, struct snapshot *snapshot);
void pt_snapshot_free(struct snapshot *snapshot);
int pt_write_perfdata(struct recorder *recorder, struct snapshot *snapshot, int dirfd,
		      const struct perf_poke_spike *spike, struct snapshot_facts *facts);
void pt_describe_recorder(const struct recorder *recorder, struct json_object *json);
void pt_describe_snapshot(const struct snapshot *snapshot, struct json_object *json);

#endif
