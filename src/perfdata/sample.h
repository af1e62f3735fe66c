/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/**
 * @file
 * Reads the events, samples and sample ids of an untrusted perf.data; see read.h.
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
	struct perf_event_attr attr; /**< missing members are zero */
	char *name;		     /**< from EVENT_DESC, or NULL */
};

/** All kinds of events. All zero is empty. */
struct perfdata_events {
	struct perfdata_kind *kinds;
	size_t nr;
	struct perfdata_event_id *ids; /**< sorted */
	size_t nr_ids;
};

/** A sample, or the fields of a sample id. */
struct perfdata_sample {
	const struct perfdata_kind *kind;
	uint64_t has; /**< PERF_SAMPLE_... bits of the fields present; others are 0 or -1 */
	uint64_t ip, time, address, id, stream_id, period;
	int32_t pid, tid, cpu;
	struct perfdata_bytes callchain; /**< 8-byte addresses and PERF_CONTEXT_... marks */
	struct perfdata_bytes raw, aux;
};

/** Reads the kinds of events. Returns 0, -EINVAL: malformed or truncated, or -ENOMEM. */
int perfdata_events_read(struct perfdata_events *events, const struct perfdata_file *file);

/** Frees. All zero is allowed. */
void perfdata_events_release(struct perfdata_events *events);

/** Parses a PERF_RECORD_SAMPLE, or the sample id of another kernel record. False: no sample id,
 * unknown event, or malformed. */
bool perfdata_sample(const struct perfdata_events *events, const struct perfdata_record *record,
		     struct perfdata_sample *sample);

#endif
