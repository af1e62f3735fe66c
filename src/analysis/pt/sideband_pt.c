// SPDX-License-Identifier: GPL-2.0-only
/* Records about Intel PT, the owners of event IDs, and the CPU. */
#include "pt/sideband_internal.h"

#include <string.h>

#include "array.h"

#define RECORD_TIME_CONV 79
#define TIME_CONV_SIZE 50 /* up to the last field read */
#define AUXTRACE_INTEL_PT 1
/* struct perf_record_auxtrace_info: header, type, reserved, fields. */
#define INFO_TYPE 8
#define INFO_FIELDS 16
/* struct perf_record_id_index: header, number, entries of id, idx, cpu, tid. */
#define INDEX_NR 8
#define INDEX_ENTRIES 16
#define INDEX_ENTRY 32

/* Such as "filter 0xffffffff81000000/0x100,tracestop 0xffffffff81000200", or with blanks. The
 * address of a mapped file (0x100/0x80@/bin/true) is unknown. */
static void take_filter(struct sideband_pt *pt, const char *text)
{
	static const char between[] = ", \t";

	while (*(text += strspn(text, between))) {
		size_t length = strcspn(text, between);
		bool stop = length == 9 && !strncmp(text, "tracestop", length);
		bool known = stop || (length == 6 && !strncmp(text, "filter", length));
		const char *number = text + length + strspn(text + length, between);
		char *end;
		uint64_t first = strtoull(number, &end, 0);
		uint64_t size = *end == '/' ? strtoull(end + 1, &end, 0) : 1;

		if (!known || end == number || (*end && !strchr(between, *end)) || !size ||
		    pt->nr_ranges == SIDEBAND_RANGES) {
			pt->nr_ranges = 0;
			return;
		}
		pt->ranges[pt->nr_ranges++] =
			(struct sideband_range){ first, first + size - 1, stop };
		text = end;
	}
}

static void take_info(struct sideband *sb, const uint8_t *record, size_t size)
{
	const size_t filter = INFO_FIELDS + sizeof(uint64_t) * (PERFDATA_PT_FILTER_STR_LEN + 1);
	struct sideband_pt *pt = &sb->pt;
	_cleanup_free_ char *text = NULL;
	uint64_t len;

	if (size < INFO_FIELDS || sideband_u32(record, INFO_TYPE) != AUXTRACE_INTEL_PT)
		return;
	for (size_t i = 0; i <= PERFDATA_PT_FILTER_STR_LEN; i++) {
		size_t at = INFO_FIELDS + i * sizeof(uint64_t);

		pt->fields[i] = at + sizeof(uint64_t) <= size ? sideband_u64(record, at) : 0;
	}
	pt->found = true;
	/* The string is between its length and the last field. */
	len = pt->fields[PERFDATA_PT_FILTER_STR_LEN];
	len = len < size ? (len + 7) & ~UINT64_C(7) : size;
	if (filter + len + sizeof(uint64_t) > size)
		return;
	pt->fields[PERFDATA_PT_CAP_EVENT_TRACE] = sideband_u64(record, filter + len);
	text = strndup((const char *)record + filter, len);
	pt->nr_ranges = 0;
	if (text)
		take_filter(pt, text);
}

/* AUXTRACE_INFO does not report a TSC with fewer bits. */
static void take_time_conv(struct sideband *sb, const uint8_t *record, size_t size)
{
	if (size < TIME_CONV_SIZE)
		return;
	sb->pt.clock.cycles = sideband_u64(record, 32);
	sb->pt.clock.mask = sideband_u64(record, 40);
	sb->pt.clock.is_short = record[49];
}

static int take_index(struct sideband *sb, const uint8_t *record, size_t size)
{
	uint64_t nr;
	struct sideband_id *ids;

	if (size < INDEX_ENTRIES)
		return 0;
	nr = sideband_u64(record, INDEX_NR);
	if (nr > (size - INDEX_ENTRIES) / INDEX_ENTRY)
		nr = (size - INDEX_ENTRIES) / INDEX_ENTRY;
	ids = nr ? reallocarray(sb->ids, sb->nr_ids + nr, sizeof(*ids)) : sb->ids;
	if (!ids && nr)
		return -ENOMEM;
	sb->ids = ids;
	for (size_t at = INDEX_ENTRIES; nr--; at += INDEX_ENTRY)
		ids[sb->nr_ids++] = (struct sideband_id){
			.id = sideband_u64(record, at),
			.cpu = (int32_t)sideband_u64(record, at + 16),
		};
	return 0;
}

int sideband_take_pt(struct sideband *sb, const struct perfdata_record *record)
{
	switch (record->type) {
	case PERFDATA_RECORD_AUXTRACE_INFO:
		take_info(sb, record->bytes, record->size);
		return 0;
	case RECORD_TIME_CONV:
		take_time_conv(sb, record->bytes, record->size);
		return 0;
	case PERFDATA_RECORD_ID_INDEX:
		return take_index(sb, record->bytes, record->size);
	case PERFDATA_RECORD_HEADER_BUILD_ID:
		return sideband_take_built(sb, record->bytes);
	}
	return 0;
}

/* "GenuineIntel,6,85,4", after its length. */
static void read_cpu(struct sideband *sb)
{
	struct perfdata_section section;
	char text[64] = "";

	if (perfdata_feature(sb->file, PERFDATA_FEATURE_CPUID, &section) || section.size < 4)
		return;
	section.size -= sizeof(uint32_t);
	memcpy(text, sb->file->bytes + section.offset + sizeof(uint32_t),
	       section.size < sizeof(text) ? section.size : sizeof(text) - 1);
	if (sscanf(text, "%15[^,],%u,%u,%u", sb->pt.vendor, &sb->pt.family, &sb->pt.model,
		   &sb->pt.stepping) != 4)
		sb->pt.vendor[0] = '\0';
}

static uint64_t field_of(uint64_t config, uint64_t mask)
{
	return mask ? (config & mask) >> __builtin_ctzll(mask) : 0;
}

static void find_event(struct sideband *sb)
{
	struct sideband_pt *pt = &sb->pt;

	for (size_t i = 0; i < sb->events.nr; i++) {
		const struct perf_event_attr *attr = &sb->events.kinds[i].attr;

		if (attr->type != pt->fields[PERFDATA_PT_PMU_TYPE])
			continue;
		pt->config = attr->config;
		pt->user = !attr->exclude_user;
		pt->kernel = !attr->exclude_kernel;
		return;
	}
}

/* Times are known only if packets have a TSC that the kernel trusts. */
static void make_clock(struct sideband_pt *pt)
{
	const uint64_t *fields = pt->fields;

	if (!(pt->config & fields[PERFDATA_PT_TSC_BIT]) ||
	    !fields[PERFDATA_PT_CAP_USER_TIME_ZERO] || fields[PERFDATA_PT_TIME_SHIFT] > 32 ||
	    fields[PERFDATA_PT_TIME_MULT] > UINT32_MAX)
		return;
	pt->clock.shift = (uint8_t)fields[PERFDATA_PT_TIME_SHIFT];
	pt->clock.mult = (uint32_t)fields[PERFDATA_PT_TIME_MULT];
	pt->clock.zero = fields[PERFDATA_PT_TIME_ZERO];
}

static int compare_ids(const void *a, const void *b)
{
	const struct sideband_id *one = a, *other = b;

	return array_compare(one->id, other->id);
}

void sideband_finish_pt(struct sideband *sb)
{
	struct sideband_pt *pt = &sb->pt;

	find_event(sb);
	make_clock(pt);
	pt->mtc_period = (uint32_t)field_of(pt->config, pt->fields[PERFDATA_PT_MTC_FREQ_BITS]);
	pt->tsc_ctc_n = (uint32_t)pt->fields[PERFDATA_PT_TSC_CTC_N];
	pt->tsc_ctc_d = (uint32_t)pt->fields[PERFDATA_PT_TSC_CTC_D];
	pt->max_nonturbo_ratio = (uint32_t)pt->fields[PERFDATA_PT_MAX_NONTURBO_RATIO];
	read_cpu(sb);
	if (sb->nr_ids)
		qsort(sb->ids, sb->nr_ids, sizeof(*sb->ids), compare_ids);
}

const struct sideband_pt *sideband_pt(const struct sideband *sb)
{
	return &sb->pt;
}

const struct sideband_id *sideband_id(const struct sideband *sb, uint64_t id)
{
	struct sideband_id wanted = { .id = id };

	return sb->nr_ids ? bsearch(&wanted, sb->ids, sb->nr_ids, sizeof(wanted), compare_ids)
			  : NULL;
}
