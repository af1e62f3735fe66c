/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/* From the bytes of a ring to the records of a perf.data. */
#ifndef LIB_RECORDER_RECORDS_H
#define LIB_RECORDER_RECORDS_H

#include <stdbool.h>
#include <stdint.h>

#include "perfdata.h"
#include "recorder/rings.h"

/* The fields that all events have, whatever else: a file with several kinds of events needs one
 * layout, and records_write() finds the time by it. */
#define RECORDS_SAMPLE_TYPE                                                                        \
	(PERF_SAMPLE_IDENTIFIER | PERF_SAMPLE_IP | PERF_SAMPLE_TID | PERF_SAMPLE_TIME |            \
	 PERF_SAMPLE_CPU)

/* What was found in the rings that were written. */
struct records_facts {
	uint64_t first_ns, last_ns; /* 0: there were none */
	uint64_t samples;
	uint64_t lost;
};

/* A task, as in a record. */
struct records_task {
	uint32_t pid, tid;
};

/* Who ran before the oldest context switch of a ring (PERF_RECORD_SWITCH_CPU_WIDE). False: there is
 * none. */
bool records_first_task(const struct ring_copy *copy, struct records_task *task);

/* The names of kernel threads that were created, as of then; to be written after all rings. */
int records_put_kthreads(struct perfdata_buf *buf, const struct ring_copy *copy, int root_fd);

/* Writes one ring's records, oldest first; adds to `facts`. */
int records_write(struct perfdata *pd, const struct ring_copy *copy, struct records_facts *facts);

#endif
