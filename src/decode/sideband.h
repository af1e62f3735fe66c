/* SPDX-License-Identifier: GPL-2.0-only */
/* The records of a perf.data that are not trace: who ran, what was mapped, what was lost. Made
 * once, then only read: threads may share it. Strings and bytes are those of the mapped file, which
 * must stay. Times are of perf's clock, in ns; what perf synthesized has the time 0. */
#ifndef DECODE_SIDEBAND_H
#define DECODE_SIDEBAND_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "perfdata.h"
#include "sample.h"
#include "trace_clock.h"
#include "util.h"

struct sideband;

/* Returns 0 or a negative errno with *why, for the caller to free. -ENOTSUP: a file of a kind that
 * is not read (compressed, of several threads), -EINVAL: damaged. */
int sideband_new(struct sideband **ret, const struct perfdata_file *file, char **why) _must_check_;
void sideband_free(struct sideband *sb);

/* AUXTRACE_INFO, the event that it is about, and the CPU. */
/* An address filter of the kernel's code: only that is traced; or reaching it ends the trace. */
struct sideband_range {
	uint64_t first, last;
	bool stop;
};

/* As many as CPUs have registers. */
#define SIDEBAND_RANGES 4

struct sideband_pt {
	bool found; /* else the file has no Intel PT */
	uint64_t fields[PERFDATA_PT_NR];
	uint64_t config; /* attr.config of the event */
	uint32_t mtc_period, tsc_ctc_n, tsc_ctc_d, max_nonturbo_ratio; /* 0: not known */
	bool user, kernel;					       /* traced */
	char vendor[16]; /* as in /proc/cpuinfo; "": not known */
	uint32_t family, model, stepping;
	struct trace_clock clock; /* mult is 0: times are not known */
	struct sideband_range ranges[SIDEBAND_RANGES];
	size_t nr_ranges; /* 0: all is traced, or what is not known */
};
const struct sideband_pt *sideband_pt(const struct sideband *sb);

/* From a moment between `time` (switched out: the task before) and `latest` (switched in) the task
 * runs on the CPU; perf takes the branch to __switch_to in between, else `latest`. Both are the
 * same where only one is known. */
struct sideband_task {
	uint64_t time, latest;
	int32_t pid, tid; /* -1: not known */
};
/* In the order of time. */
const struct sideband_task *sideband_tasks(const struct sideband *sb, int cpu, size_t *nr);

/* What a task was called then; NULL: not known. */
const char *sideband_comm(const struct sideband *sb, int tid, uint64_t time);
/* -1: not known. The last one before `time`, for tids are reused. */
int sideband_pid(const struct sideband *sb, int tid, uint64_t time);

struct sideband_map {
	uint64_t start, end, pgoff;
	const char *name;
	const uint8_t *build_id; /* by the record, or by the file's table; NULL: not known */
	uint8_t build_id_size;
	bool is_data; /* no code */
};

/* What a process has mapped in a span of time. */
struct sideband_maps {
	struct sideband_map *maps; /* by address; none overlap */
	size_t nr;
	uint64_t from, until; /* it stays so: from <= time < until */
};
/* Of `pid` at `time`. Returns 0 or -ENOMEM. */
int sideband_maps(const struct sideband *sb, int pid, uint64_t time, struct sideband_maps *maps);
void sideband_maps_release(struct sideband_maps *maps);

/* A symbol of code that the kernel makes while it runs: of BPF programs, trampolines. */
struct sideband_ksymbol {
	uint64_t time, start;
	uint32_t len;
	uint16_t type; /* PERF_RECORD_KSYMBOL_TYPE_... */
	bool removed;  /* from then on it is no longer there */
	const char *name;
};

/* The kernel's code was changed. */
struct sideband_poke {
	uint64_t time, addr;
	uint16_t old_len, new_len;
	const uint8_t *old_bytes, *new_bytes;
};

/* All but maps in the order of time. */
struct sideband_kernel {
	const struct sideband_map
		*maps; /* the kernel ("[kernel.kallsyms]_text"), modules; by address */
	const struct sideband_ksymbol *ksymbols;
	const struct sideband_poke *pokes;
	size_t nr_maps, nr_ksymbols, nr_pokes;
};
const struct sideband_kernel *sideband_kernel(const struct sideband *sb);

struct sideband_lost {
	uint64_t time;
	uint64_t records; /* so many; 0: trace, for the buffer was full */
	int32_t cpu;	  /* -1: not known */
};
const struct sideband_lost *sideband_lost(const struct sideband *sb, size_t *nr);

const struct perfdata_events *sideband_events(const struct sideband *sb);
/* Whose events have an id, by the record ID_INDEX. */
struct sideband_id {
	uint64_t id;
	int32_t cpu, tid; /* -1: of none */
};
/* NULL: not known. */
const struct sideband_id *sideband_id(const struct sideband *sb, uint64_t id);

#endif
