// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
/* Intel PT in a perf.data: the decoder's parameters and the trace. */
#include "internal.h"

#include <string.h>

#define AUXTRACE_INTEL_PT 1
#define AUXTRACE_SIZE 48

int perfdata_put_pt_info(struct perfdata_buf *buf, const uint64_t fields[PERFDATA_PT_NR],
			 const char *filter)
{
	size_t len = filter ? strlen(filter) : 0;
	size_t padded = len ? ALIGN8(len + 1) : 0;

	perfdata_buf_header(buf, PERFDATA_RECORD_AUXTRACE_INFO, 0,
			    sizeof(struct perf_event_header) +
				    sizeof(uint64_t) * (1 + PERFDATA_PT_NR) + padded);
	perfdata_buf_u32(buf, AUXTRACE_INTEL_PT);
	perfdata_buf_u32(buf, 0);
	for (int i = 0; i < PERFDATA_PT_FILTER_STR_LEN; i++)
		perfdata_buf_u64(buf, fields[i]);
	perfdata_buf_u64(buf, len);
	if (len) {
		perfdata_buf_add(buf, filter, len);
		perfdata_buf_zero(buf, padded - len);
	}
	/* Later versions of perf added fields after the string. */
	for (int i = PERFDATA_PT_FILTER_STR_LEN + 1; i < PERFDATA_PT_NR; i++)
		perfdata_buf_u64(buf, fields[i]);
	return buf->error;
}

int perfdata_put_time_conv(struct perfdata_buf *buf, const struct perf_event_mmap_page *page)
{
	perfdata_buf_header(buf, PERFDATA_RECORD_TIME_CONV, 0,
			    sizeof(struct perf_event_header) + 6 * sizeof(uint64_t));
	perfdata_buf_u64(buf, page->time_shift);
	perfdata_buf_u64(buf, page->time_mult);
	perfdata_buf_u64(buf, page->time_zero);
	perfdata_buf_u64(buf, page->time_cycles);
	perfdata_buf_u64(buf, page->time_mask);
	perfdata_buf_u64(buf, page->cap_user_time_zero | (uint64_t)page->cap_user_time_short << 8);
	return buf->error;
}

int perfdata_put_id_index(struct perfdata_buf *buf, const struct perfdata_event *events, size_t nr,
			  const int *cpus)
{
	size_t ids = 0;

	for (size_t i = 0; i < nr; i++)
		ids += events[i].nr_ids;
	perfdata_buf_header(buf, PERFDATA_RECORD_ID_INDEX, 0,
			    sizeof(struct perf_event_header) + sizeof(uint64_t) * (1 + 4 * ids));
	perfdata_buf_u64(buf, ids);
	for (size_t i = 0; i < nr; i++) {
		for (size_t cpu = 0; cpu < events[i].nr_ids; cpu++) {
			perfdata_buf_u64(buf, events[i].ids[cpu]);
			perfdata_buf_u64(buf, cpu);
			perfdata_buf_u64(buf, cpus[cpu]);
			perfdata_buf_u64(buf, -1);
		}
	}
	return buf->error;
}

int perfdata_write_auxtrace(struct perfdata *pd, const struct perfdata_auxtrace *trace)
{
	static const uint64_t zeros;
	_cleanup_buf_ struct perfdata_buf head = {};
	uint64_t size = 0, padded;
	int r;

	for (size_t i = 0; i < ARRAY_SIZE(trace->parts); i++)
		size += trace->parts[i].len;
	padded = ALIGN8(size);

	perfdata_buf_header(&head, PERFDATA_RECORD_AUXTRACE, 0, AUXTRACE_SIZE);
	perfdata_buf_u64(&head, padded);
	perfdata_buf_u64(&head, 0); /* offset in the AUX stream, unused */
	perfdata_buf_u64(&head, trace->reference);
	perfdata_buf_u32(&head, trace->index);
	perfdata_buf_u32(&head, -1);
	perfdata_buf_u32(&head, trace->cpu);
	perfdata_buf_u32(&head, 0);
	if (head.error)
		return head.error;
	perfdata_note_auxtrace(pd, AUXTRACE_SIZE);
	r = perfdata_write(pd, head.data, head.len);
	for (size_t i = 0; !r && i < ARRAY_SIZE(trace->parts); i++)
		r = perfdata_write(pd, trace->parts[i].data, trace->parts[i].len);
	return r ? r : perfdata_write(pd, &zeros, padded - size);
}
