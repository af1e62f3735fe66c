/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/**
 * @file
 * The events of a perf.data, its samples, and the sample ids of its other records. A stranger's
 * file is as good as one of ours: see read.h.
 *
 *	perfdata_events_read(&events, &file);
 *	while (perfdata_next(&file, &at, &record))
 *		if (perfdata_sample(&events, &record, &sample))
 *			...
 *	perfdata_events_release(&events);
 */
#ifndef PERFDATA_SAMPLE_H
#define PERFDATA_SAMPLE_H

#include <linux/perf_event.h>

#include "read.h"

/** One kind of event of a file that is read. */
struct perfdata_kind {
	struct perf_event_attr attr; /**< what the file does not have of it is zero */
	char *name;		     /**< as EVENT_DESC has it; NULL: it has none */
};

/** All kinds of events. All zero is none. */
struct perfdata_events {
	struct perfdata_kind *kinds;
	size_t nr;
	struct perfdata_event_id *ids; /**< by number */
	size_t nr_ids;
};

/** Bytes of the file: not aligned. */
struct perfdata_bytes {
	const uint8_t *data;
	uint64_t size;
};

/** A sample, or what a sample id has of one. */
struct perfdata_sample {
	const struct perfdata_kind *kind;
	uint64_t has; /**< PERF_SAMPLE_...: which of the fields are there; others are 0, or -1 */
	uint64_t ip, time, address, id, stream_id, period;
	int32_t pid, tid, cpu;
	struct perfdata_bytes callchain; /**< addresses of 8 bytes, PERF_CONTEXT_... among them */
	struct perfdata_bytes raw, aux;
};

/**
 * Read the kinds of events.
 *
 * @param events  set on success, for perfdata_events_release()
 * @param file  where from
 *
 * Returns: 0, -EINVAL: their table is malformed or cut off, -ENOMEM.
 */
int perfdata_events_read(struct perfdata_events *events, const struct perfdata_file *file);

/** Free. What is all zero is left alone. */
void perfdata_events_release(struct perfdata_events *events);

/**
 * Parse a PERF_RECORD_SAMPLE, or the sample id at the end of another record of the kernel.
 *
 * Returns: false: it has none, is of an event that is not in the file, or is malformed.
 */
bool perfdata_sample(const struct perfdata_events *events, const struct perfdata_record *record,
		     struct perfdata_sample *sample);

#endif
