// SPDX-License-Identifier: GPL-2.0-only
/* Mappings of processes, of the kernel and of modules. */
#include "array.h"
#include "sideband/sideband_internal.h"

#include <string.h>
#include <sys/mman.h>

/* Of records: the fields of <linux/perf_event.h>. */
#define MMAP_PID 8
#define MMAP_START 16
#define MMAP_LEN 24
#define MMAP_OFFSET 32
#define MMAP_NAME 40
#define MMAP2_ID_SIZE 40
#define MMAP2_ID 44
#define MMAP2_PROT 64
#define MMAP2_NAME 72
#define COMM_PID 8
#define FORK_PID 8
#define FORK_PPID 12
#define FORK_SIZE 32
/* An entry of the table of build ids: header, pid, id, its size, name. */
#define BUILT_ID 12
#define BUILT_ID_SIZE 32
#define BUILT_NAME 36
#define BUILT_HAS_SIZE (1 << 15)
#define ID_SIZE_MAX 20

int sideband_take_built(struct sideband *sb, const uint8_t *record, size_t size)
{
	const char *name = sideband_string(record, size, BUILT_NAME);
	uint8_t id_size = ID_SIZE_MAX;
	ssize_t i;

	if (!name)
		return 0;
	if (sideband_u16(record, 4) & BUILT_HAS_SIZE)
		id_size = record[BUILT_ID_SIZE];
	if (!id_size || id_size > ID_SIZE_MAX)
		return 0;
	i = sideband_grow((void **)&sb->built, &sb->nr_built, sizeof(*sb->built));
	if (i < 0)
		return (int)i;
	sb->built[i] = (struct sideband_built){ name, record + BUILT_ID, id_size };
	return 0;
}

static int read_built(struct sideband *sb)
{
	struct perfdata_section table;
	int r = 0;

	if (sb->file->piped || perfdata_feature(sb->file, PERFDATA_FEATURE_BUILD_ID, &table))
		return 0;
	while (!r && table.size >= sizeof(struct perf_event_header)) {
		const uint8_t *record = sb->file->bytes + table.offset;
		uint16_t size = sideband_u16(record, 6);

		if (size < sizeof(struct perf_event_header) || size > table.size)
			break;
		r = sideband_take_built(sb, record, size);
		table.offset += size;
		table.size -= size;
	}
	return r;
}

static int compare_built(const void *a, const void *b)
{
	const struct sideband_built *one = a, *other = b;

	return strcmp(one->name, other->name);
}

static void find_build_id(const struct sideband *sb, struct sideband_map *map)
{
	struct sideband_built wanted = { .name = map->name }, *found;

	found = sb->nr_built
			? bsearch(&wanted, sb->built, sb->nr_built, sizeof(wanted), compare_built)
			: NULL;
	if (found) {
		map->build_id = found->id;
		map->build_id_size = found->id_size;
	}
}

/* For a record whose name ends within it. */
static struct sideband_map read_map(const struct sideband *sb, const uint8_t *record)
{
	bool is_2 = sideband_u32(record, 0) == PERF_RECORD_MMAP2;
	uint16_t misc = sideband_u16(record, 4);
	struct sideband_map map = {
		.start = sideband_u64(record, MMAP_START),
		.pgoff = sideband_u64(record, MMAP_OFFSET),
		.name = (const char *)record + (is_2 ? MMAP2_NAME : MMAP_NAME),
		.is_data = misc & PERF_RECORD_MISC_MMAP_DATA,
	};

	if (__builtin_add_overflow(map.start, sideband_u64(record, MMAP_LEN), &map.end))
		map.end = UINT64_MAX;
	if (is_2 && !(sideband_u32(record, MMAP2_PROT) & PROT_EXEC))
		map.is_data = true;
	if (is_2 && misc & PERF_RECORD_MISC_MMAP_BUILD_ID && record[MMAP2_ID_SIZE] &&
	    record[MMAP2_ID_SIZE] <= ID_SIZE_MAX) {
		map.build_id = record + MMAP2_ID;
		map.build_id_size = record[MMAP2_ID_SIZE];
	} else {
		find_build_id(sb, &map);
	}
	return map;
}

static int take_mmap(struct sideband *sb, const struct sideband_record *taken)
{
	const struct perfdata_record *record = taken->record;
	size_t name = record->type == PERF_RECORD_MMAP2 ? MMAP2_NAME : MMAP_NAME;
	uint16_t mode = record->misc & PERF_RECORD_MISC_CPUMODE_MASK;

	if (!sideband_string(record->bytes, record->size, name))
		return 0;
	if (mode == PERF_RECORD_MISC_USER)
		return sideband_add_ref(&sb->maps, (int32_t)sideband_u32(record->bytes, MMAP_PID),
					taken->sample.time, record->bytes);
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

/* Build IDs are at the end of a file. */
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

/* Existing entries are newer: the map fills the gaps. */
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

/* From the newest record back to exec, or on to the records of the parent. Each step goes to an
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
