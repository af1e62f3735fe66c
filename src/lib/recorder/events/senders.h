/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/* Who asks the watched CPUs to do something, on whatever CPU: interrupts and function calls between
 * CPUs, and work that is queued for a CPU. The kernel leaves out what is for other CPUs. */
#ifndef LIB_RECORDER_SENDERS_H
#define LIB_RECORDER_SENDERS_H

#include "base/log.h"
#include "perfdata.h"
#include "recorder/recorder.h"
#include "recorder/sideband.h"

struct senders;

/* Events of so many kinds, at most. */
#define SENDERS_EVENTS_MAX 4

/* *ret is NULL where the kernel does not tell, as before Linux 6.4. attr: with clock. */
int senders_open(struct senders **ret, const struct perf_event_attr *attr,
		 const struct recorder_config *config, int tracefs_fd, int root_fd,
		 const struct log *log);
void senders_free(struct senders *senders);

/* All but senders_open() take NULL. */
int senders_cpu_online(struct senders *senders, int cpu);
/* Adds the names of the events, with their systems. Returns their number. */
size_t senders_names(const struct senders *senders, const char **names);
/* *ret is NULL without senders. */
int senders_copy(const struct senders *senders, struct sideband_copy **ret);
/* Adds the kinds of events that are in the copy. Returns their number. */
size_t senders_describe(const struct senders *senders, const struct sideband_copy *copy,
			struct perfdata_event *described);
int senders_write(const struct sideband_copy *copy, struct perfdata *pd);

#endif
