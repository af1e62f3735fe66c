/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/* Counts a reported latency like the program, but without a system call. */
#ifndef LIB_TRIGGER_COUNT_H
#define LIB_TRIGGER_COUNT_H

#include <stddef.h>
#include <stdint.h>

struct trigger_cpu;
struct trigger_bpf__data_arming;

/* Memory that the programs share with this process: of PERF_POKE_TRIGGER_REPORT. */
struct trigger_counters {
	struct trigger_cpu *rows; /* by CPU */
	size_t nr_rows;
	const struct trigger_bpf__data_arming *arming;
};

/* Any thread; async-signal-safe. Returns 0 if counted, 1 if it may be a spike, which only the
 * program can take, or -ENXIO if the CPU is not watched. */
int trigger_count(const struct trigger_counters *counters, int cpu, uint64_t latency_ns);

#endif
