// SPDX-License-Identifier: GPL-2.0-only
#include "pt/sideband.h"

#include <string.h>

#include "array.h"
#include "pt/sideband_internal.h"

uint16_t sideband_u16(const uint8_t *record, size_t at)
{
	uint16_t value;

	memcpy(&value, record + at, sizeof(value));
	return value;
}

uint32_t sideband_u32(const uint8_t *record, size_t at)
{
	uint32_t value;

	memcpy(&value, record + at, sizeof(value));
	return value;
}

uint64_t sideband_u64(const uint8_t *record, size_t at)
{
	uint64_t value;

	memcpy(&value, record + at, sizeof(value));
	return value;
}

const char *sideband_string(const uint8_t *record, size_t size, size_t at)
{
	return at < size && memchr(record + at, '\0', size - at) ? (const char *)record + at : NULL;
}

ssize_t sideband_grow(void **array, size_t *nr, size_t size)
{
	return array_grow(array, *nr, size) ?: (ssize_t)(*nr)++;
}

int sideband_add_ref(struct sideband_refs *refs, int32_t key, uint64_t time, const uint8_t *record)
{
	ssize_t i = sideband_grow((void **)&refs->refs, &refs->nr, sizeof(*refs->refs));

	if (i < 0)
		return (int)i;
	refs->refs[i] = (struct sideband_ref){ time, record, key };
	return 0;
}

static int compare_refs(const void *a, const void *b)
{
	const struct sideband_ref *one = a, *other = b;

	if (one->key != other->key)
		return one->key < other->key ? -1 : 1;
	return array_compare(one->time, other->time)
		       ?: array_compare((uintptr_t)one->record, (uintptr_t)other->record);
}

void sideband_sort_refs(struct sideband_refs *refs)
{
	if (refs->nr)
		qsort(refs->refs, refs->nr, sizeof(*refs->refs), compare_refs);
}

size_t sideband_refs_until(const struct sideband_refs *refs, int32_t key, uint64_t time,
			   const uint8_t *before)
{
	struct sideband_ref wanted = { time, before ?: (const uint8_t *)UINTPTR_MAX, key };

	return ARRAY_COUNT_BEFORE(refs->nr, i, compare_refs(&refs->refs[i], &wanted) < 0);
}

const struct sideband_ref *sideband_last_ref(const struct sideband_refs *refs, int32_t key,
					     uint64_t time, const uint8_t *before)
{
	size_t end = sideband_refs_until(refs, key, time, before);

	return end && refs->refs[end - 1].key == key ? &refs->refs[end - 1] : NULL;
}

static int take_record(struct sideband *sb, const struct perfdata_record *record)
{
	struct sideband_record taken = { .record = record };
	int r;

	if (record->type >= PERFDATA_RECORD_HEADER_ATTR)
		return sideband_take_pt(sb, record);
	if (!perfdata_sample(&sb->events, record, &taken.sample))
		taken.sample = (struct perfdata_sample){ .pid = -1, .tid = -1, .cpu = -1 };
	r = sideband_take_task(sb, &taken);
	if (!r)
		r = sideband_take_map(sb, &taken);
	return r ? r : sideband_take_kernel(sb, &taken);
}

static int explain(char **why, int r, const char *text)
{
	*why = strdup(text);
	return *why ? r : -ENOMEM;
}

static int take_records(struct sideband *sb, char **why)
{
	struct perfdata_record record;
	int r = 0;

	for (uint64_t at = sb->file->data.offset; !r && perfdata_next(sb->file, &at, &record);) {
		if (record.type == PERFDATA_RECORD_COMPRESSED ||
		    record.type == PERFDATA_RECORD_COMPRESSED2)
			return explain(why, -ENOTSUP,
				       "its records are compressed (perf record -z): perf script "
				       "reads it");
		r = take_record(sb, &record);
	}
	return r;
}

/* Rejects files whose records are elsewhere, or missing. */
static int check_file(const struct perfdata_file *file, char **why)
{
	struct perfdata_section section;

	if (!file->data.size)
		return explain(why, -EINVAL, "it has no records: perf record did not finish it");
	if (!perfdata_feature(file, PERFDATA_FEATURE_DIR_FORMAT, &section) &&
	    section.size >= sizeof(uint64_t) && sideband_u64(file->bytes, section.offset))
		return explain(
			why, -ENOTSUP,
			"its records are in several files (perf record --threads): perf script "
			"reads it");
	return 0;
}

static int read_all(struct sideband *sb, char **why)
{
	int r = check_file(sb->file, why);

	if (!r) {
		r = perfdata_events_read(&sb->events, sb->file);
		if (r == -EINVAL)
			return explain(why, r, "its events are damaged");
	}
	if (!r)
		r = take_records(sb, why);
	if (!r)
		r = sideband_finish_maps(sb);
	if (!r) {
		sideband_finish_pt(sb);
		sideband_finish_tasks(sb);
		sideband_finish_kernel(sb);
	}
	return r;
}

int sideband_new(struct sideband **ret, const struct perfdata_file *file, char **why)
{
	struct sideband *sb = calloc(1, sizeof(*sb));
	int r = -ENOMEM;

	*why = NULL;
	if (sb) {
		sb->file = file;
		r = read_all(sb, why);
	}
	if (r) {
		sideband_free(sb);
		return *why ? r : explain(why, r, strerror(-r));
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

const struct perfdata_events *sideband_events(const struct sideband *sb)
{
	return &sb->events;
}
