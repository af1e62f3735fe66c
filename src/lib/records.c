// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
#include "records.h"

#include <string.h>

#include "util.h"

/* Sample ids follow the record's own fields, in the order of perf_event.h: TID, TIME, (ID,
 * STREAM_ID,) CPU, IDENTIFIER. A sample has IDENTIFIER, IP, TID, TIME. */
static uint64_t record_time(const struct perf_event_header *header)
{
	const char *record = (const char *)header;
	size_t offset =
		header->type == PERF_RECORD_SAMPLE ? sizeof(*header) + 24U : header->size - 24U;
	uint64_t time_ns;

	if (offset + sizeof(time_ns) > header->size)
		return 0;
	memcpy(&time_ns, record + offset, sizeof(time_ns));
	return time_ns;
}

/* An overwrite ring loses events only while it is paused for a copy; the kernel notes how many in a
 * LOST record: header, id, lost, sample id. */
static uint64_t record_lost(const struct perf_event_header *header)
{
	uint64_t lost;

	memcpy(&lost, (const char *)(header + 1) + 8, sizeof(lost));
	return lost;
}

static void facts_add(struct records_facts *facts, const struct perf_event_header *header)
{
	uint64_t time_ns = record_time(header);

	if (!facts->first_ns || time_ns < facts->first_ns)
		facts->first_ns = time_ns;
	if (time_ns > facts->last_ns)
		facts->last_ns = time_ns;
	facts->samples += header->type == PERF_RECORD_SAMPLE;
}

/* Where the records begin, newest first. The oldest may be torn: what is not whole is left out. */
static size_t records_find(const struct ring_copy *copy, uint32_t *offsets)
{
	size_t nr = 0, offset = 0;

	while (offset + sizeof(struct perf_event_header) <= copy->size) {
		const struct perf_event_header *header = (void *)(copy->data + offset);

		if (header->size < sizeof(*header) || header->size > copy->size - offset)
			break;
		offsets[nr++] = offset;
		offset += header->size;
	}
	return nr;
}

bool records_first_task(const struct ring_copy *copy, struct records_task *task)
{
	const struct switch_record {
		struct perf_event_header header;
		struct records_task other; /* who comes next, or was there before */
		struct records_task own;   /* of the sample id: whom the record is about */
	} *found = NULL;
	size_t offset = 0;

	while (offset + sizeof(*found) <= copy->size) {
		const struct switch_record *record = (const void *)(copy->data + offset);

		if (record->header.size < sizeof(record->header) ||
		    record->header.size > copy->size - offset)
			break;
		if (record->header.type == PERF_RECORD_SWITCH_CPU_WIDE)
			found = record;
		offset += record->header.size;
	}
	if (found)
		*task = found->header.misc & PERF_RECORD_MISC_SWITCH_OUT ? found->own
									 : found->other;
	return found;
}

int records_write(struct perfdata *pd, const struct ring_copy *copy, struct records_facts *facts)
{
	_cleanup_free_ uint32_t *offsets = NULL;
	int err = 0;

	offsets = calloc(copy->size / sizeof(struct perf_event_header) + 1, sizeof(*offsets));
	if (!offsets)
		return -ENOMEM;
	for (size_t nr = records_find(copy, offsets); nr && !err; nr--) {
		const struct perf_event_header *header = (void *)(copy->data + offsets[nr - 1]);

		/* Told in capture.json: perf would take it for a machine that is too slow, and
		 * warn. */
		if (header->type == PERF_RECORD_LOST) {
			facts->lost += record_lost(header);
			continue;
		}
		facts_add(facts, header);
		err = perfdata_write(pd, header, header->size);
	}
	return err;
}
