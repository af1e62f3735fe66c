// SPDX-License-Identifier: GPL-2.0-only
/* Reads the records; of Intel PT, of the kernel's code, and of losses. */
#include "code/sideband_internal.h"

#include <string.h>

#include "array.h"

const struct perfdata_events *sideband_events(const struct sideband *sb)
{
	return &sb->events;
}

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
static void take_address_filter(struct sideband_pt *pt, const char *text)
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

static void take_auxtrace_info(struct sideband *sb, const uint8_t *record, size_t size)
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
		take_address_filter(pt, text);
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

static int take_id_index(struct sideband *sb, const uint8_t *record, size_t size)
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

static int take_pt_record(struct sideband *sb, const struct perfdata_record *record)
{
	switch (record->type) {
	case PERFDATA_RECORD_AUXTRACE_INFO:
		take_auxtrace_info(sb, record->bytes, record->size);
		return 0;
	case RECORD_TIME_CONV:
		take_time_conv(sb, record->bytes, record->size);
		return 0;
	case PERFDATA_RECORD_ID_INDEX:
		return take_id_index(sb, record->bytes, record->size);
	case PERFDATA_RECORD_HEADER_BUILD_ID:
		return sideband_take_built(sb, record->bytes);
	}
	return 0;
}

/* "GenuineIntel,6,85,4", after its length. */
static void read_cpu_model(struct sideband *sb)
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

static uint64_t config_field_of(uint64_t config, uint64_t mask)
{
	return mask ? (config & mask) >> __builtin_ctzll(mask) : 0;
}

static void find_pt_event(struct sideband *sb)
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
static void make_trace_clock(struct sideband_pt *pt)
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

static int compare_sideband_ids(const void *a, const void *b)
{
	const struct sideband_id *one = a, *other = b;

	return array_compare(one->id, other->id);
}

static void finish_pt_facts(struct sideband *sb)
{
	struct sideband_pt *pt = &sb->pt;

	find_pt_event(sb);
	make_trace_clock(pt);
	pt->mtc_period =
		(uint32_t)config_field_of(pt->config, pt->fields[PERFDATA_PT_MTC_FREQ_BITS]);
	pt->tsc_ctc_n = (uint32_t)pt->fields[PERFDATA_PT_TSC_CTC_N];
	pt->tsc_ctc_d = (uint32_t)pt->fields[PERFDATA_PT_TSC_CTC_D];
	pt->max_nonturbo_ratio = (uint32_t)pt->fields[PERFDATA_PT_MAX_NONTURBO_RATIO];
	read_cpu_model(sb);
	if (sb->nr_ids)
		qsort(sb->ids, sb->nr_ids, sizeof(*sb->ids), compare_sideband_ids);
}

const struct sideband_pt *sideband_pt(const struct sideband *sb)
{
	return &sb->pt;
}

const struct sideband_id *sideband_find_id(const struct sideband *sb, uint64_t id)
{
	struct sideband_id wanted = { .id = id };

	return sb->nr_ids
		       ? bsearch(&wanted, sb->ids, sb->nr_ids, sizeof(wanted), compare_sideband_ids)
		       : NULL;
}

/* Offsets of fields in <linux/perf_event.h>. */
#define KSYMBOL_ADDR 8
#define KSYMBOL_LEN 16
#define KSYMBOL_TYPE 20
#define KSYMBOL_FLAGS 22
#define KSYMBOL_NAME 24
#define POKE_ADDR 8
#define POKE_OLD_LEN 16
#define POKE_NEW_LEN 18
#define POKE_BYTES 20
#define LOST_NR 16
#define LOST_SIZE 24
#define LOST_SAMPLES_NR 8
#define LOST_SAMPLES_SIZE 16
#define AUX_FLAGS 24
#define AUX_SIZE 32

static int take_ksymbol_record(struct sideband *sb, const struct sideband_record *taken)
{
	const uint8_t *record = taken->record->bytes;
	const char *name = sideband_string(record, taken->record->size, KSYMBOL_NAME);
	ssize_t i;

	if (!name)
		return 0;
	i = sideband_grow((void **)&sb->ksymbols, &sb->kernel.nr_ksymbols, sizeof(*sb->ksymbols));
	if (i < 0)
		return (int)i;
	sb->ksymbols[i] = (struct sideband_ksymbol){
		.time = taken->sample.time,
		.start = sideband_u64(record, KSYMBOL_ADDR),
		.len = sideband_u32(record, KSYMBOL_LEN),
		.type = sideband_u16(record, KSYMBOL_TYPE),
		.removed =
			sideband_u16(record, KSYMBOL_FLAGS) & PERF_RECORD_KSYMBOL_FLAGS_UNREGISTER,
		.name = name,
	};
	return 0;
}

static int take_text_poke(struct sideband *sb, const struct sideband_record *taken)
{
	const uint8_t *record = taken->record->bytes;
	uint16_t old_len, new_len;
	ssize_t i;

	if (taken->record->size < POKE_BYTES)
		return 0;
	old_len = sideband_u16(record, POKE_OLD_LEN);
	new_len = sideband_u16(record, POKE_NEW_LEN);
	if (POKE_BYTES + old_len + new_len > taken->record->size)
		return 0;
	i = sideband_grow((void **)&sb->pokes, &sb->kernel.nr_pokes, sizeof(*sb->pokes));
	if (i < 0)
		return (int)i;
	sb->pokes[i] = (struct sideband_poke){
		.time = taken->sample.time,
		.addr = sideband_u64(record, POKE_ADDR),
		.old_len = old_len,
		.new_len = new_len,
		.old_bytes = record + POKE_BYTES,
		.new_bytes = record + POKE_BYTES + old_len,
	};
	return 0;
}

static int add_lost_records(struct sideband *sb, const struct sideband_record *taken,
			    uint64_t records)
{
	ssize_t i = sideband_grow((void **)&sb->lost, &sb->nr_lost, sizeof(*sb->lost));

	if (i < 0)
		return (int)i;
	sb->lost[i] = (struct sideband_lost){ taken->sample.time, records, taken->sample.cpu };
	return 0;
}

static int take_aux_record(struct sideband *sb, const struct sideband_record *taken)
{
	const uint64_t lost = PERF_AUX_FLAG_TRUNCATED | PERF_AUX_FLAG_PARTIAL;

	if (taken->record->size < AUX_SIZE ||
	    !(sideband_u64(taken->record->bytes, AUX_FLAGS) & lost))
		return 0;
	return add_lost_records(sb, taken, 0);
}

static int take_kernel_record(struct sideband *sb, const struct sideband_record *taken)
{
	const struct perfdata_record *record = taken->record;

	switch (record->type) {
	case PERF_RECORD_KSYMBOL:
		return take_ksymbol_record(sb, taken);
	case PERF_RECORD_TEXT_POKE:
		return take_text_poke(sb, taken);
	case PERF_RECORD_AUX:
		return take_aux_record(sb, taken);
	case PERF_RECORD_LOST:
		return record->size < LOST_SIZE
			       ? 0
			       : add_lost_records(sb, taken, sideband_u64(record->bytes, LOST_NR));
	case PERF_RECORD_LOST_SAMPLES:
		return record->size < LOST_SAMPLES_SIZE
			       ? 0
			       : add_lost_records(sb, taken,
						  sideband_u64(record->bytes, LOST_SAMPLES_NR));
	}
	return 0;
}

/* At equal times, keeps the order of the file: its bytes have the lower address. */
static int compare_ksymbols(const void *a, const void *b)
{
	const struct sideband_ksymbol *one = a, *other = b;

	return array_compare(one->time, other->time)
		       ?: array_compare((uintptr_t)one->name, (uintptr_t)other->name);
}

static int compare_pokes(const void *a, const void *b)
{
	const struct sideband_poke *one = a, *other = b;

	return array_compare(one->time, other->time)
		       ?: array_compare((uintptr_t)one->old_bytes, (uintptr_t)other->old_bytes);
}

static void sort_records(void *array, size_t nr, size_t size,
			 int (*compare)(const void *, const void *))
{
	if (nr)
		qsort(array, nr, size, compare);
}

static void finish_kernel_records(struct sideband *sb)
{
	sort_records(sb->ksymbols, sb->kernel.nr_ksymbols, sizeof(*sb->ksymbols), compare_ksymbols);
	sort_records(sb->pokes, sb->kernel.nr_pokes, sizeof(*sb->pokes), compare_pokes);
	sb->kernel.maps = sb->kernel_maps;
	sb->kernel.nr_maps = sb->kernel_refs.nr;
	sb->kernel.ksymbols = sb->ksymbols;
	sb->kernel.pokes = sb->pokes;
}

const struct sideband_kernel *sideband_kernel(const struct sideband *sb)
{
	return &sb->kernel;
}

const struct sideband_lost *sideband_lost(const struct sideband *sb, size_t *nr)
{
	*nr = sb->nr_lost;
	return sb->lost;
}

static int explain_refusal(char **why, int err, const char *text)
{
	*why = strdup(text);
	return *why ? err : -ENOMEM;
}

/* Rejects files whose records are elsewhere, or missing. */
static int check_data_file(const struct perfdata_file *file, char **why)
{
	struct perfdata_section section;

	if (!file->data.size)
		return explain_refusal(why, -EINVAL,
				       "it has no records: perf record did not finish it");
	if (!perfdata_feature(file, PERFDATA_FEATURE_DIR_FORMAT, &section) &&
	    section.size >= sizeof(uint64_t) && sideband_u64(file->bytes, section.offset))
		return explain_refusal(
			why, -ENOTSUP,
			"its records are in several files (perf record --threads): perf script "
			"reads it");
	return 0;
}

static int read_all_records(struct sideband *sb, char **why)
{
	struct perfdata_record record;
	int err = check_data_file(sb->file, why);

	if (!err) {
		err = perfdata_events_read(&sb->events, sb->file);
		if (err == -EINVAL)
			return explain_refusal(why, err, "its events are damaged");
	}
	for (uint64_t at = sb->file->data.offset; !err && perfdata_next(sb->file, &at, &record);) {
		struct sideband_record taken = { .record = &record };

		if (record.type == PERFDATA_RECORD_COMPRESSED ||
		    record.type == PERFDATA_RECORD_COMPRESSED2)
			return explain_refusal(why, -ENOTSUP,
					       "its records are compressed (perf record -z): perf "
					       "script reads it");
		if (record.type >= PERFDATA_RECORD_HEADER_ATTR) {
			err = take_pt_record(sb, &record);
			continue;
		}
		if (!perfdata_sample(&sb->events, &record, &taken.sample))
			taken.sample = (struct perfdata_sample){ .pid = -1, .tid = -1, .cpu = -1 };
		err = sideband_take_task(sb, &taken);
		err = err ?: sideband_take_map(sb, &taken);
		err = err ?: take_kernel_record(sb, &taken);
	}
	err = err ?: sideband_finish_maps(sb);
	if (err)
		return err;
	finish_pt_facts(sb);
	sideband_finish_tasks(sb);
	finish_kernel_records(sb);
	return 0;
}

int sideband_new(struct sideband **ret, const struct perfdata_file *file, char **why)
{
	struct sideband *sb = calloc(1, sizeof(*sb));
	int err = -ENOMEM;

	*why = NULL;
	if (sb) {
		sb->file = file;
		err = read_all_records(sb, why);
	}
	if (err) {
		sideband_free(sb);
		return *why ? err : explain_refusal(why, err, strerror(-err));
	}
	*ret = sb;
	return 0;
}

void sideband_free(struct sideband *sb)
{
	if (!sb)
		return;
	perfdata_events_release(&sb->events);
	for (size_t i = 0; i < sb->nr_cpus; i++)
		free(sb->cpus[i].tasks);
	free(sb->cpus);
	free(sb->names.refs);
	free(sb->maps.refs);
	free(sb->kernel_refs.refs);
	free(sb->kernel_maps);
	free(sb->ksymbols);
	free(sb->pokes);
	free(sb->lost);
	free(sb->ids);
	free(sb->built);
	free(sb);
}
