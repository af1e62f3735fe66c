/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/* What a trace needs beside itself so that its tasks have names: those there were when the session
 * began, those there are when it is written, and from every CPU what forked, executed or was
 * renamed in between. */
#ifndef LIB_SIDEBAND_H
#define LIB_SIDEBAND_H

#include "log.h"
#include "perfdata.h"
#include "rings.h"

struct sideband;

/* attr: a template with sample_type and clock; what is recorded is set here. root_fd: of "/", the
 * caller's. */
int sideband_open(struct sideband **ret, const struct perf_event_attr *attr, int root_fd,
		  const struct log *log);

/* For the description of the file. Valid until sideband_free(). */
struct perfdata_event sideband_event(const struct sideband *sideband);

/* The rings, one for each CPU that was online; `copies` is the caller's to free with
 * sideband_copies_free(). */
int sideband_copy(const struct sideband *sideband, struct ring_copy **copies);
void sideband_copies_free(const struct sideband *sideband, struct ring_copy *copies);

/* Kernel maps, task names and, for traces of user space, the maps of tasks and the build ids of
 * what is mapped, all to be written before all records with a time; then the rings. */
int sideband_write(const struct sideband *sideband, struct perfdata *pd,
		   const struct ring_copy *copies, bool maps);

void sideband_free(struct sideband *sideband);

#endif
