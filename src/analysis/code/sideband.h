/* SPDX-License-Identifier: GPL-2.0-only */
/* The records of a perf.data besides the trace: tasks, mappings, losses. Immutable once built, so
 * threads may share it. Strings and bytes point into the mapped file, which must stay valid. Times
 * are ns of perf's clock; records synthesized by perf have time 0. */
#ifndef DECODE_SIDEBAND_H
#define DECODE_SIDEBAND_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "array.h"
#include "perfdata.h"
#include "perfdata_read.h"
#include "util.h"

/* Parameters from AUXTRACE_INFO and TIME_CONV. */
struct trace_clock {
	uint64_t zero;
	uint64_t cycles, mask; /* if `is_short`, for a TSC with fewer bits */
	uint32_t mult;	       /* 0: conversion unknown */
	uint8_t shift;
	bool is_short;
};

/* Both return 0 if the conversion is unknown. */
static inline uint64_t trace_clock_ns(const struct trace_clock *clock, uint64_t tsc)
{
	uint64_t quotient, remainder;

	if (!clock->mult)
		return 0;
	if (clock->is_short)
		tsc = clock->cycles + ((tsc - clock->cycles) & clock->mask);
	quotient = tsc >> clock->shift;
	remainder = tsc & ((UINT64_C(1) << clock->shift) - 1);
	return clock->zero + quotient * clock->mult + ((remainder * clock->mult) >> clock->shift);
}
static inline uint64_t trace_clock_tsc(const struct trace_clock *clock, uint64_t ns)
{
	uint64_t time = ns - clock->zero;

	if (!clock->mult)
		return 0;
	return ((time / clock->mult) << clock->shift) +
	       ((time % clock->mult) << clock->shift) / clock->mult;
}

/* Packets contain 56 bits. The rest is taken from `near`, a full TSC less than 2^55 ticks away. */
static inline uint64_t trace_clock_extend(uint64_t tsc56, uint64_t near)
{
	return near + (uint64_t)((int64_t)((tsc56 - near) << 8) >> 8);
}

struct sideband;

/* Returns 0, or a negative errno with *why, for the caller to free. -ENOTSUP: an unsupported kind
 * of file (compressed, several threads); -EINVAL: damaged. */
int sideband_new(struct sideband **ret, const struct perfdata_file *file, char **why) _must_check_;
void sideband_free(struct sideband *sb);

/* AUXTRACE_INFO, its event, and the CPU. */
/* An address filter of kernel code: trace only this code, or stop the trace there. */
struct sideband_range {
	uint64_t first, last;
	bool stop;
};

/* CPUs have at most so many registers. */
#define SIDEBAND_RANGES 4

struct sideband_pt {
	bool found; /* false: the file has no Intel PT */
	uint64_t fields[PERFDATA_PT_NR];
	uint64_t config; /* attr.config of the event */
	uint32_t mtc_period, tsc_ctc_n, tsc_ctc_d, max_nonturbo_ratio; /* 0: unknown */
	bool user, kernel;					       /* traced */
	char vendor[16]; /* as in /proc/cpuinfo; "": unknown */
	uint32_t family, model, stepping;
	struct trace_clock clock; /* mult 0: times are unknown */
	struct sideband_range ranges[SIDEBAND_RANGES];
	size_t nr_ranges; /* 0: everything is traced, or unknown */
};
const struct sideband_pt *sideband_pt(const struct sideband *sb);

/* The task runs on the CPU from a moment between `time` (the previous task switched out) and
 * `latest` (switched in). Like perf, use the branch to __switch_to in between, else `latest`. Both
 * are equal if only one is known. */
struct sideband_task {
	uint64_t time, latest;
	int32_t pid, tid; /* -1: unknown */
};
/* In order of time. */
const struct sideband_task *sideband_tasks(const struct sideband *sb, int cpu, size_t *nr);

/* The name of a task at a time; NULL: unknown. */
const char *sideband_comm(const struct sideband *sb, int tid, uint64_t time);

struct sideband_map {
	uint64_t start, end, pgoff;
	const char *name;
	const uint8_t *build_id; /* from the record or the file's table; NULL: unknown */
	uint8_t build_id_size;
	bool is_data; /* no code */
};

/* The mappings of a process during an interval. */
struct sideband_maps {
	struct sideband_map *maps; /* sorted by address, without overlaps */
	size_t nr;
	uint64_t from, until; /* valid for from <= time < until */
};
/* Of `pid` at `time`. Returns 0 or -ENOMEM. */
int sideband_maps(const struct sideband *sb, int pid, uint64_t time, struct sideband_maps *maps);
void sideband_maps_release(struct sideband_maps *maps);

/* NULL: nothing is mapped there. */
static inline const struct sideband_map *sideband_find_map(const struct sideband_maps *maps,
							   uint64_t address)
{
	size_t at = ARRAY_COUNT_BEFORE(maps->nr, i, maps->maps[i].end <= address);

	return at < maps->nr && maps->maps[at].start <= address ? &maps->maps[at] : NULL;
}

/* A symbol of code that the kernel generates: BPF programs, trampolines. */
struct sideband_ksymbol {
	uint64_t time, start;
	uint32_t len;
	uint16_t type; /* PERF_RECORD_KSYMBOL_TYPE_... */
	bool removed;  /* removed at this time */
	const char *name;
};

/* A change of the kernel's code. */
struct sideband_poke {
	uint64_t time, addr;
	uint16_t old_len, new_len;
	const uint8_t *old_bytes, *new_bytes;
};

/* In order of time, except maps. */
struct sideband_kernel {
	const struct sideband_map
		*maps; /* the kernel ("[kernel.kallsyms]_text") and modules, sorted by address */
	const struct sideband_ksymbol *ksymbols;
	const struct sideband_poke *pokes;
	size_t nr_maps, nr_ksymbols, nr_pokes;
};
const struct sideband_kernel *sideband_kernel(const struct sideband *sb);

struct sideband_lost {
	uint64_t time;
	uint64_t records; /* number of lost records; 0: lost trace, because a buffer was full */
	int32_t cpu;	  /* -1: unknown */
};
const struct sideband_lost *sideband_lost(const struct sideband *sb, size_t *nr);

const struct perfdata_events *sideband_events(const struct sideband *sb);
/* The CPU of an event ID, from ID_INDEX. */
struct sideband_id {
	uint64_t id;
	int32_t cpu; /* -1: none */
};
/* NULL: unknown. */
const struct sideband_id *sideband_find_id(const struct sideband *sb, uint64_t id);

#endif
