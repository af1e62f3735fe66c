/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/* Records, on all CPUs, requests to the watched CPUs: interrupts and function calls between CPUs,
 * and queued work. The kernel filters out requests to other CPUs. */
#ifndef LIB_RECORDER_SENDERS_H
#define LIB_RECORDER_SENDERS_H

#include "base/log.h"
#include "perfdata.h"
#include "recorder/recorder.h"
#include "recorder/sideband.h"

struct senders;

/* Maximum number of events. */
#define SENDERS_EVENTS_MAX 4

/* *ret NULL: the kernel has none of the events, as before Linux 6.4. attr: clock settings. */
int senders_open(struct senders **ret, const struct perf_event_attr *attr,
		 const struct recorder_config *config, int tracefs_fd, const struct log *log);
void senders_free(struct senders *senders);

/* All functions but senders_open() accept NULL. */
int senders_cpu_online(struct senders *senders, int cpu);
const struct ring_event *senders_events(const struct senders *senders, size_t *nr);
/* *ret is NULL without senders. */
int senders_copy(const struct senders *senders, struct sideband_copy **ret);
/* Adds the kinds of the copied events. Returns their number. */
size_t senders_describe(const struct senders *senders, const struct sideband_copy *copy,
			struct perfdata_event *described);
/* Adds the numbers of events and lost events to `facts`. */
int senders_write(const struct sideband_copy *copy, struct perfdata *pd,
		  struct snapshot_facts *facts);

#endif
