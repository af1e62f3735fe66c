/* SPDX-License-Identifier: GPL-2.0-only */
/* Synthetic files of perf record, record by record. */
#ifndef TESTS_DECODE_MADE_H
#define TESTS_DECODE_MADE_H

#include <linux/perf_event.h>

#include "code/sideband.h"
#include "perfdata.h"
#include "perfdata_read.h"

#define MADE_SAMPLE_TYPE                                                                           \
	(PERF_SAMPLE_IDENTIFIER | PERF_SAMPLE_TID | PERF_SAMPLE_TIME | PERF_SAMPLE_CPU)

/* The PT event's type, and ids of its CPUs; the other events' follow. */
#define MADE_PMU 9
#define MADE_ID 100
#define MADE_CPUS 4

struct made {
	struct perfdata_buf data;     /* records */
	struct perfdata_buf features; /* one: MADE_FEATURE */
	unsigned int feature;
	uint64_t sample_type; /* of the PT event: MADE_SAMPLE_TYPE and more */
};

/* The kernel's sample_id behind a record. */
struct made_id {
	uint32_t pid, tid;
	uint64_t time;
	uint32_t cpu, reserved;
	uint64_t id;
};

void made_record(struct made *made, uint32_t type, uint16_t misc, const void *body, size_t len);

/* With the sample id of a dummy event. Bodies are padded to 8. */
void made_event(struct made *made, uint32_t type, uint16_t misc, const void *body, size_t len,
		struct made_id id);

void made_comm(struct made *made, uint16_t misc, uint32_t pid, uint32_t tid, const char *name,
	       uint64_t time);
void made_fork(struct made *made, uint32_t pid, uint32_t ppid, uint32_t tid, uint32_t ptid,
	       uint64_t time);
/* MMAP2 of code. build_id: of 20 bytes, or NULL. */
void made_mmap(struct made *made, uint16_t misc, uint32_t pid, uint64_t start, uint64_t len,
	       uint64_t pgoff, const char *name, const char *build_id, uint64_t time);
/* out: misc of a switch-out, else 0. */
void made_switch(struct made *made, uint32_t cpu, uint64_t time, bool out, uint32_t pid,
		 uint32_t tid, uint32_t other_pid, uint32_t other_tid);
/* AUXTRACE_INFO: one tick of the TSC is 1 ns / 2^shift * mult. */
void made_info(struct made *made, uint64_t shift, uint64_t mult, uint64_t zero);
void made_trace(struct made *made, uint32_t cpu, uint64_t reference, const void *trace, size_t len);

/* Maps the file and releases `made`. */
void made_map(struct made *made, struct perfdata_file *file);

struct made_opened {
	struct perfdata_file file;
	struct sideband *sb;
};

/* The same with its sideband, which must be valid. */
struct made_opened made_open(struct made *made);
void made_close(struct made_opened *opened);

#endif
