/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/* Task names for a trace: tasks at the start of the session, tasks when the trace is written, and
 * all forks, execs and renames in between, of every CPU. */
#ifndef LIB_RECORDER_SIDEBAND_H
#define LIB_RECORDER_SIDEBAND_H

#include "base/log.h"
#include "perfdata.h"
#include "recorder/rings.h"

struct sideband;

/* attr: a template with sample_type and clock; what is recorded is set here. root_fd: of "/", the
 * caller's. */
int sideband_open(struct sideband **ret, const struct perf_event_attr *attr, int root_fd,
		  const struct log *log);

/* Goes on recording a CPU that was offline. One that was not online when the session began is left
 * out. */
int sideband_cpu_online(struct sideband *sideband, int cpu);

/* The rings at a time, one for each CPU that was online when the session began, and the ids of
 * their records. */
struct sideband_copy {
	uint64_t *ids;
	size_t nr_ids;
	size_t nr;
	struct ring_copy rings[];
};

int sideband_copy(const struct sideband *sideband, struct sideband_copy **ret);
void sideband_copy_free(struct sideband_copy *copy);

/* For the description of the file with the copy. Valid as long as both. */
struct perfdata_event sideband_event(const struct sideband *sideband,
				     const struct sideband_copy *copy);

/* Kernel maps, task names and, for traces of user space, the maps of tasks and the build ids of
 * what is mapped, all to be written before all records with a time; then the rings. */
int sideband_write(const struct sideband *sideband, struct perfdata *pd,
		   const struct sideband_copy *copy, bool maps);

void sideband_free(struct sideband *sideband);

#endif
