/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/* Writes the records of a ring to a perf.data. */
#ifndef LIB_RECORDER_RECORDS_H
#define LIB_RECORDER_RECORDS_H

#include <stdbool.h>
#include <stdint.h>

#include "perfdata.h"
#include "recorder/rings.h"

/* The sample_type of all events: by this layout records_write() finds the time, and so does perf in
 * a file with several events. */
#define RECORDS_SAMPLE_TYPE                                                                        \
	(PERF_SAMPLE_IDENTIFIER | PERF_SAMPLE_IP | PERF_SAMPLE_TID | PERF_SAMPLE_TIME |            \
	 PERF_SAMPLE_CPU)

/* Results of writing rings. */
struct records_facts {
	uint64_t first_ns, last_ns; /* 0: no record */
	uint64_t samples;
	uint64_t lost;
};

struct records_task {
	uint32_t pid, tid;
};

/* The task before the oldest context switch (PERF_RECORD_SWITCH_CPU_WIDE) of a ring. False: no
 * switch. */
bool records_first_task(const struct ring_copy *copy, struct records_task *task);

/* Writes names of forked kernel threads; call after all rings. */
int records_put_kthreads(struct perfdata_buf *buf, const struct ring_copy *copy, int root_fd);

/* Writes a ring's records, oldest first; adds to `facts`. */
int records_write(struct perfdata *pd, const struct ring_copy *copy, struct records_facts *facts);

/* Writes the result of perfdata_put_*(), unless one of them failed with `err`. Releases the
 * buffer. */
int records_flush(struct perfdata *pd, struct perfdata_buf *buf, int err);

#endif
