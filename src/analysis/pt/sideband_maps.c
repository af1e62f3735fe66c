// SPDX-License-Identifier: GPL-2.0-only
/* Mappings of processes, of the kernel and of modules. */
#include "array.h"
#include "pt/sideband_internal.h"

#include <string.h>

/* Offsets of fields in <linux/perf_event.h>. */
#define COMM_PID 8
#define FORK_PID 8
#define FORK_PPID 12
#define FORK_SIZE 32

int sideband_take_built(struct sideband *sb, const uint8_t *record)
{
	struct perfdata_identified built;
	ssize_t i;

	if (!perfdata_identified(record, &built) || !built.build_id.size)
		return 0;
	i = sideband_grow((void **)&sb->built, &sb->nr_built, sizeof(*sb->built));
	if (i < 0)
		return (int)i;
	sb->built[i] = built;
	return 0;
}

static int read_built(struct sideband *sb)
{
	struct perfdata_section table;
	int r = 0;

	if (perfdata_feature(sb->file, PERFDATA_FEATURE_BUILD_ID, &table))
		return 0;
	while (!r && table.size >= sizeof(struct perf_event_header)) {
		const uint8_t *record = sb->file->bytes + table.offset;
		uint16_t size = sideband_u16(record, 6);

		if (size < sizeof(struct perf_event_header) || size > table.size)
			break;
		r = sideband_take_built(sb, record);
		table.offset += size;
		table.size -= size;
	}
	return r;
}

static int compare_built(const void *a, const void *b)
{
	const struct perfdata_identified *one = a, *other = b;

	return strcmp(one->name, other->name);
}

static struct perfdata_bytes find_build_id(const struct sideband *sb, const char *name)
{
	const struct perfdata_identified wanted = { .name = name }, *found = NULL;

	if (sb->nr_built)
		found = bsearch(&wanted, sb->built, sb->nr_built, sizeof(wanted), compare_built);
	return found ? found->build_id : (struct perfdata_bytes){};
}

/* For a record that perfdata_mapping() takes. */
static struct sideband_map read_map(const struct sideband *sb, const uint8_t *record)
{
	struct perfdata_mapping mapping = {};

	perfdata_mapping(record, &mapping);
	if (!mapping.build_id.size)
		mapping.build_id = find_build_id(sb, mapping.name);
	return (struct sideband_map){
		.start = mapping.start,
		.end = mapping.end,
		.pgoff = mapping.offset,
		.name = mapping.name,
		.build_id = mapping.build_id.data,
		.build_id_size = (uint8_t)mapping.build_id.size,
		.is_data = mapping.is_data,
	};
}

static int take_mmap(struct sideband *sb, const struct sideband_record *taken)
{
	const struct perfdata_record *record = taken->record;
	uint16_t mode = record->misc & PERF_RECORD_MISC_CPUMODE_MASK;
	struct perfdata_mapping mapping;

	if (!perfdata_mapping(record->bytes, &mapping))
		return 0;
	if (mode == PERF_RECORD_MISC_USER)
		return sideband_add_ref(&sb->maps, mapping.pid, taken->sample.time, record->bytes);
	if (mode != PERF_RECORD_MISC_KERNEL)
		return 0;
	return sideband_add_ref(&sb->kernel_refs, 0, taken->sample.time, record->bytes);
}

/* fork copies the parent's mappings, exec drops them. */
int sideband_take_map(struct sideband *sb, const struct sideband_record *taken)
{
	const struct perfdata_record *record = taken->record;
	int32_t key;

	switch (record->type) {
	case PERF_RECORD_MMAP:
	case PERF_RECORD_MMAP2:
		return take_mmap(sb, taken);
	case PERF_RECORD_COMM:
		if (!(record->misc & PERF_RECORD_MISC_COMM_EXEC) || record->size < COMM_PID + 4)
			return 0;
		key = (int32_t)sideband_u32(record->bytes, COMM_PID);
		break;
	case PERF_RECORD_FORK:
		if (record->size < FORK_SIZE ||
		    sideband_u32(record->bytes, FORK_PID) == sideband_u32(record->bytes, FORK_PPID))
			return 0;
		key = (int32_t)sideband_u32(record->bytes, FORK_PID);
		break;
	default:
		return 0;
	}
	return sideband_add_ref(&sb->maps, key, taken->sample.time, record->bytes);
}

static int compare_maps(const void *a, const void *b)
{
	const struct sideband_map *one = a, *other = b;

	return array_compare(one->start, other->start);
}

/* Call last: build IDs are at the end of a file. */
int sideband_finish_maps(struct sideband *sb)
{
	size_t nr = sb->kernel_refs.nr;
	int r = read_built(sb);

	if (r)
		return r;
	if (sb->nr_built)
		qsort(sb->built, sb->nr_built, sizeof(*sb->built), compare_built);
	sideband_sort_refs(&sb->maps);
	if (!nr)
		return 0;
	sb->kernel_maps = calloc(nr, sizeof(*sb->kernel_maps));
	if (!sb->kernel_maps)
		return -ENOMEM;
	for (size_t i = 0; i < nr; i++)
		sb->kernel_maps[i] = read_map(sb, sb->kernel_refs.refs[i].record);
	qsort(sb->kernel_maps, nr, sizeof(*sb->kernel_maps), compare_maps);
	return 0;
}

static int insert_map(struct sideband_maps *maps, size_t at, struct sideband_map map,
		      uint64_t start, uint64_t end)
{
	if (array_grow(&maps->maps, maps->nr, sizeof(*maps->maps)))
		return -ENOMEM;
	memmove(&maps->maps[at + 1], &maps->maps[at], (maps->nr - at) * sizeof(map));
	maps->nr++;
	map.pgoff += start - map.start;
	map.start = start;
	map.end = end;
	maps->maps[at] = map;
	return 0;
}

/* Fills gaps only: existing entries are newer. */
static int add_map(struct sideband_maps *maps, struct sideband_map map)
{
	uint64_t start = map.start;
	size_t low = ARRAY_COUNT_BEFORE(maps->nr, i, maps->maps[i].end <= start);
	int r = 0;

	for (; !r && start < map.end; low++) {
		bool is_last = low == maps->nr || maps->maps[low].start >= map.end;
		uint64_t end = is_last ? map.end : maps->maps[low].start;

		if (start < end)
			r = insert_map(maps, low++, map, start, end);
		if (is_last)
			break;
		start = maps->maps[low].end;
	}
	return r;
}

static bool is_map(const struct sideband_ref *ref)
{
	uint32_t type = sideband_u32(ref->record, 0);

	return type == PERF_RECORD_MMAP || type == PERF_RECORD_MMAP2;
}

/* From the newest record back to exec, or into the records of the parent. Each step goes to an
 * older record. */
static int collect_maps(const struct sideband *sb, const struct sideband_ref *ref,
			struct sideband_maps *maps)
{
	int r = 0;

	while (ref && !r) {
		const struct sideband_ref *older = ref > sb->maps.refs ? ref - 1 : NULL;

		if (is_map(ref)) {
			r = add_map(maps, read_map(sb, ref->record));
			ref = older && older->key == ref->key ? older : NULL;
			continue;
		}
		if (sideband_u32(ref->record, 0) == PERF_RECORD_COMM ||
		    sideband_u16(ref->record, 4) & PERF_RECORD_MISC_FORK_EXEC)
			break;
		ref = sideband_last_ref(&sb->maps, (int32_t)sideband_u32(ref->record, FORK_PPID),
					ref->time, ref->record);
	}
	return r;
}

int sideband_maps(const struct sideband *sb, int pid, uint64_t time, struct sideband_maps *ret)
{
	size_t next = sideband_refs_until(&sb->maps, pid, time, NULL);
	const struct sideband_ref *ref = next ? &sb->maps.refs[next - 1] : NULL;
	struct sideband_maps maps = { .until = UINT64_MAX };
	int r;

	if (ref && ref->key == pid) {
		maps.from = ref->time;
		r = collect_maps(sb, ref, &maps);
		if (r) {
			sideband_maps_release(&maps);
			return r;
		}
	}
	if (next < sb->maps.nr && sb->maps.refs[next].key == pid)
		maps.until = sb->maps.refs[next].time;
	*ret = maps;
	return 0;
}

void sideband_maps_release(struct sideband_maps *maps)
{
	free(maps->maps);
	*maps = (struct sideband_maps){};
}
