/* SPDX-License-Identifier: GPL-2.0-only */
/* The records of a perf.data other than trace: which tasks ran, what was mapped, what was lost.
 * Immutable once built, so threads may share it. Strings and bytes point into the mapped file,
 * which must stay. Times are on perf's clock, in ns; records synthesized by perf have time 0. */
#ifndef DECODE_SIDEBAND_H
#define DECODE_SIDEBAND_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "perfdata.h"
#include "sample.h"
#include "sideband/trace_clock.h"
#include "util.h"

struct sideband;

/* Returns 0 or a negative errno with *why, for the caller to free. -ENOTSUP: a file of a kind that
 * is not read (compressed, of several threads), -EINVAL: damaged. */
int sideband_new(struct sideband **ret, const struct perfdata_file *file, char **why) _must_check_;
void sideband_free(struct sideband *sb);

/* AUXTRACE_INFO, its event, and the CPU. */
/* An address filter of the kernel's code: only that is traced; or reaching it ends the trace. */
struct sideband_range {
	uint64_t first, last;
	bool stop;
};

/* As many as CPUs have registers. */
#define SIDEBAND_RANGES 4

struct sideband_pt {
	bool found; /* false: the file has no Intel PT */
	uint64_t fields[PERFDATA_PT_NR];
	uint64_t config; /* attr.config of the event */
	uint32_t mtc_period, tsc_ctc_n, tsc_ctc_d, max_nonturbo_ratio; /* 0: not known */
	bool user, kernel;					       /* traced */
	char vendor[16]; /* as in /proc/cpuinfo; "": not known */
	uint32_t family, model, stepping;
	struct trace_clock clock; /* mult 0: times are unknown */
	struct sideband_range ranges[SIDEBAND_RANGES];
	size_t nr_ranges; /* 0: all is traced, or what is not known */
};
const struct sideband_pt *sideband_pt(const struct sideband *sb);

/* The task runs on the CPU from a moment between `time` (the previous task switched out) and
 * `latest` (switched in). perf uses the branch to __switch_to in between, else `latest`. Both are
 * equal if only one is known. */
struct sideband_task {
	uint64_t time, latest;
	int32_t pid, tid; /* -1: not known */
};
/* In order of time. */
const struct sideband_task *sideband_tasks(const struct sideband *sb, int cpu, size_t *nr);

/* The name of a task at a time; NULL: unknown. */
const char *sideband_comm(const struct sideband *sb, int tid, uint64_t time);
/* -1: unknown. The last one before `time`, because TIDs are reused. */
int sideband_pid(const struct sideband *sb, int tid, uint64_t time);

struct sideband_map {
	uint64_t start, end, pgoff;
	const char *name;
	const uint8_t *build_id; /* from the record or the file's table; NULL: unknown */
	uint8_t build_id_size;
	bool is_data; /* contains no code */
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

/* All in order of time, except maps. */
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
	uint64_t records; /* number of lost records; 0: lost trace, because the buffer was full */
	int32_t cpu;	  /* -1: not known */
};
const struct sideband_lost *sideband_lost(const struct sideband *sb, size_t *nr);

const struct perfdata_events *sideband_events(const struct sideband *sb);
/* The owner of an event ID, from the record ID_INDEX. */
struct sideband_id {
	uint64_t id;
	int32_t cpu, tid; /* -1: of none */
};
/* NULL: not known. */
const struct sideband_id *sideband_id(const struct sideband *sb, uint64_t id);

#endif
