/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/* Task names for a trace: the tasks at the start of the session and at the time of writing, and all
 * forks, execs and renames in between on every CPU. */
#ifndef LIB_RECORDER_SIDEBAND_H
#define LIB_RECORDER_SIDEBAND_H

#include "base/log.h"
#include "perfdata.h"
#include "recorder/rings.h"

struct sideband;

/* attr: a template with sample_type and clock. root_fd: of "/"; stays the caller's. */
int sideband_open(struct sideband **ret, const struct perf_event_attr *attr, int root_fd,
		  const struct log *log);

/* Resumes recording a CPU that was offline, unless it was offline at the start. */
int sideband_cpu_online(struct sideband *sideband, int cpu);

/* A copy of the rings, one per CPU that was online at the start, with the ids of their records. */
struct sideband_copy {
	uint64_t *ids;
	size_t nr_ids;
	size_t nr;
	struct ring_copy rings[];
};

int sideband_copy(const struct sideband *sideband, struct sideband_copy **ret);
/* The same for other rings, of nr CPUs, without stopping them. */
int sideband_copy_rings(const struct rings *rings, size_t nr, struct sideband_copy **ret);
void sideband_copy_free(struct sideband_copy *copy);

/* The event for the header of the file. Valid as long as both arguments. */
struct perfdata_event sideband_event(const struct sideband *sideband,
				     const struct sideband_copy *copy);

#define SIDEBAND_ALL (-1)

/* Writes kernel maps, task names, maps and build ids of the process maps_of (0: none, SIDEBAND_ALL:
 * all), then the rings. Call before writing records with a time. */
int sideband_write(const struct sideband *sideband, struct perfdata *pd,
		   const struct sideband_copy *copy, int maps_of);

void sideband_free(struct sideband *sideband);

#endif
