// SPDX-License-Identifier: GPL-2.0-only
/* Where tasks ran, their names; mappings of processes, of the kernel and of modules. */
#include "code/sideband_internal.h"

#include <string.h>

#include "array.h"

/* Exceeds the kernel's maximum NR_CPUS. */
#define CPUS_MAX 65536
#define NOT_KNOWN UINT64_MAX

/* Offsets of fields in <linux/perf_event.h>. */
#define SWITCH_PID 8
#define SWITCH_TID 12
#define SWITCH_SIZE 16
#define START_PID 8
#define START_TID 12
#define START_SIZE 16
#define COMM_PID 8
#define COMM_TID 12
#define COMM_NAME 16
#define FORK_PID 8
#define FORK_PPID 12
#define FORK_TID 16
#define FORK_PTID 20
#define FORK_SIZE 32

int sideband_add_ref(struct sideband_refs *refs, int32_t key, uint64_t time, const uint8_t *record)
{
	ssize_t i = sideband_grow((void **)&refs->refs, &refs->nr, sizeof(*refs->refs));

	if (i < 0)
		return (int)i;
	refs->refs[i] = (struct sideband_ref){ time, record, key };
	return 0;
}

static int compare_record_refs(const void *a, const void *b)
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
		qsort(refs->refs, refs->nr, sizeof(*refs->refs), compare_record_refs);
}

size_t sideband_refs_until(const struct sideband_refs *refs, int32_t key, uint64_t time,
			   const uint8_t *before)
{
	struct sideband_ref wanted = { time, before ?: (const uint8_t *)UINTPTR_MAX, key };

	return ARRAY_COUNT_BEFORE(refs->nr, i, compare_record_refs(&refs->refs[i], &wanted) < 0);
}

const struct sideband_ref *sideband_last_ref(const struct sideband_refs *refs, int32_t key,
					     uint64_t time, const uint8_t *before)
{
	size_t end = sideband_refs_until(refs, key, time, before);

	return end && refs->refs[end - 1].key == key ? &refs->refs[end - 1] : NULL;
}

static struct sideband_cpu *sideband_cpu_of(struct sideband *sb, int32_t cpu)
{
	size_t nr = (size_t)cpu + 1;
	struct sideband_cpu *grown;

	if (nr <= sb->nr_cpus)
		return &sb->cpus[cpu];
	grown = reallocarray(sb->cpus, nr, sizeof(*grown));
	if (!grown)
		return NULL;
	memset(grown + sb->nr_cpus, 0, (nr - sb->nr_cpus) * sizeof(*grown));
	sb->cpus = grown;
	sb->nr_cpus = nr;
	return &grown[cpu];
}

static int add_task_switch(struct sideband_cpu *cpu, struct sideband_task task)
{
	ssize_t i = sideband_grow((void **)&cpu->tasks, &cpu->nr, sizeof(*cpu->tasks));

	if (i < 0)
		return (int)i;
	cpu->tasks[i] = task;
	if (i && cpu->tasks[i - 1].time > task.time)
		cpu->is_unsorted = true;
	return 0;
}

/* The task runs now. The record of the previous task may have announced it. */
static int switch_task_in(struct sideband_cpu *cpu, uint64_t time, int32_t pid, int32_t tid)
{
	struct sideband_task *last = cpu->nr ? &cpu->tasks[cpu->nr - 1] : NULL;

	if (last && last->tid == tid && last->latest == NOT_KNOWN && last->time <= time) {
		last->latest = time;
		return 0;
	}
	return add_task_switch(cpu, (struct sideband_task){ time, time, pid, tid });
}

/* The first task to switch out ran before. */
static int switch_task_out(struct sideband_cpu *cpu, const struct perfdata_sample *sample,
			   int32_t pid, int32_t tid, uint64_t latest)
{
	int err = 0;

	if (!cpu->nr && sample->tid >= 0)
		err = add_task_switch(cpu,
				      (struct sideband_task){ 0, 0, sample->pid, sample->tid });
	return err ? err
		   : add_task_switch(cpu, (struct sideband_task){ sample->time, latest, pid, tid });
}

static int take_switch_record(struct sideband *sb, const struct sideband_record *taken)
{
	const struct perfdata_record *record = taken->record;
	const struct perfdata_sample *sample = &taken->sample;
	struct sideband_cpu *cpu;

	if (sample->cpu < 0 || sample->cpu >= CPUS_MAX)
		return 0;
	cpu = sideband_cpu_of(sb, sample->cpu);
	if (!cpu)
		return -ENOMEM;
	if (record->type == PERF_RECORD_ITRACE_START)
		return record->size < START_SIZE
			       ? 0
			       : switch_task_in(cpu, sample->time,
						(int32_t)sideband_u32(record->bytes, START_PID),
						(int32_t)sideband_u32(record->bytes, START_TID));
	if (!(record->misc & PERF_RECORD_MISC_SWITCH_OUT))
		return switch_task_in(cpu, sample->time, sample->pid, sample->tid);
	if (record->type == PERF_RECORD_SWITCH)
		return switch_task_out(cpu, sample, -1, -1, sample->time);
	return record->size < SWITCH_SIZE
		       ? 0
		       : switch_task_out(
				 cpu, sample, (int32_t)sideband_u32(record->bytes, SWITCH_PID),
				 (int32_t)sideband_u32(record->bytes, SWITCH_TID), NOT_KNOWN);
}

static int take_task_name(struct sideband *sb, const struct sideband_record *taken)
{
	const struct perfdata_record *record = taken->record;
	bool is_comm = record->type == PERF_RECORD_COMM;

	if (is_comm ? !sideband_string(record->bytes, record->size, COMM_NAME)
		    : record->size < FORK_SIZE)
		return 0;
	return sideband_add_ref(&sb->names,
				(int32_t)sideband_u32(record->bytes, is_comm ? COMM_TID : FORK_TID),
				taken->sample.time, record->bytes);
}

int sideband_take_task(struct sideband *sb, const struct sideband_record *taken)
{
	switch (taken->record->type) {
	case PERF_RECORD_SWITCH:
	case PERF_RECORD_SWITCH_CPU_WIDE:
	case PERF_RECORD_ITRACE_START:
		return take_switch_record(sb, taken);
	case PERF_RECORD_COMM:
	case PERF_RECORD_FORK:
		return take_task_name(sb, taken);
	}
	return 0;
}

static int compare_tasks(const void *a, const void *b)
{
	const struct sideband_task *one = a, *other = b;

	return array_compare(one->time, other->time) ?: array_compare(one->latest, other->latest);
}

static void finish_cpu_tasks(struct sideband_cpu *cpu)
{
	if (cpu->is_unsorted)
		qsort(cpu->tasks, cpu->nr, sizeof(*cpu->tasks), compare_tasks);
	for (size_t i = 0; i + 1 < cpu->nr; i++) {
		if (cpu->tasks[i].latest > cpu->tasks[i + 1].time)
			cpu->tasks[i].latest = cpu->tasks[i + 1].time;
	}
}

void sideband_finish_tasks(struct sideband *sb)
{
	for (size_t i = 0; i < sb->nr_cpus; i++)
		finish_cpu_tasks(&sb->cpus[i]);
	sideband_sort_refs(&sb->names);
}

const struct sideband_task *sideband_tasks(const struct sideband *sb, int cpu, size_t *nr)
{
	bool is_known = cpu >= 0 && (size_t)cpu < sb->nr_cpus;

	*nr = is_known ? sb->cpus[cpu].nr : 0;
	return is_known ? sb->cpus[cpu].tasks : NULL;
}

/* A forked task has the name that its parent had then. Each step goes to an older record. */
const char *sideband_comm(const struct sideband *sb, int tid, uint64_t time)
{
	const uint8_t *before = NULL;
	const struct sideband_ref *ref;

	while ((ref = sideband_last_ref(&sb->names, tid, time, before))) {
		if (sideband_u32(ref->record, 0) == PERF_RECORD_COMM)
			return (const char *)ref->record + COMM_NAME;
		tid = (int32_t)sideband_u32(ref->record, FORK_PTID);
		time = ref->time;
		before = ref->record;
	}
	return tid ? NULL : "swapper";
}

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

static int read_build_ids(struct sideband *sb)
{
	struct perfdata_section table;
	int err = 0;

	if (perfdata_feature(sb->file, PERFDATA_FEATURE_BUILD_ID, &table))
		return 0;
	while (!err && table.size >= sizeof(struct perf_event_header)) {
		const uint8_t *record = sb->file->bytes + table.offset;
		uint16_t size = sideband_u16(record, 6);

		if (size < sizeof(struct perf_event_header) || size > table.size)
			break;
		err = sideband_take_built(sb, record);
		table.offset += size;
		table.size -= size;
	}
	return err;
}

static int compare_built(const void *a, const void *b)
{
	const struct perfdata_identified *one = a, *other = b;

	return strcmp(one->name, other->name);
}

static struct perfdata_bytes find_map_build_id(const struct sideband *sb, const char *name)
{
	const struct perfdata_identified wanted = { .name = name }, *found = NULL;

	if (sb->nr_built)
		found = bsearch(&wanted, sb->built, sb->nr_built, sizeof(wanted), compare_built);
	return found ? found->build_id : (struct perfdata_bytes){};
}

/* For a record that perfdata_mapping() takes. */
static struct sideband_map read_map_record(const struct sideband *sb, const uint8_t *record)
{
	struct perfdata_mapping mapping = {};

	perfdata_mapping(record, &mapping);
	if (!mapping.build_id.size)
		mapping.build_id = find_map_build_id(sb, mapping.name);
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

static int take_mmap_record(struct sideband *sb, const struct sideband_record *taken)
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
		return take_mmap_record(sb, taken);
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
	int err = read_build_ids(sb);

	if (err)
		return err;
	if (sb->nr_built)
		qsort(sb->built, sb->nr_built, sizeof(*sb->built), compare_built);
	sideband_sort_refs(&sb->maps);
	if (!nr)
		return 0;
	sb->kernel_maps = calloc(nr, sizeof(*sb->kernel_maps));
	if (!sb->kernel_maps)
		return -ENOMEM;
	for (size_t i = 0; i < nr; i++)
		sb->kernel_maps[i] = read_map_record(sb, sb->kernel_refs.refs[i].record);
	qsort(sb->kernel_maps, nr, sizeof(*sb->kernel_maps), compare_maps);
	return 0;
}

static int insert_map_part(struct sideband_maps *maps, size_t at, struct sideband_map map,
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
static int add_map_to_gaps(struct sideband_maps *maps, struct sideband_map map)
{
	uint64_t start = map.start;
	size_t low = ARRAY_COUNT_BEFORE(maps->nr, i, maps->maps[i].end <= start);
	int err = 0;

	for (; !err && start < map.end; low++) {
		bool is_last = low == maps->nr || maps->maps[low].start >= map.end;
		uint64_t end = is_last ? map.end : maps->maps[low].start;

		if (start < end)
			err = insert_map_part(maps, low++, map, start, end);
		if (is_last)
			break;
		start = maps->maps[low].end;
	}
	return err;
}

static bool is_mmap_record(const struct sideband_ref *ref)
{
	uint32_t type = sideband_u32(ref->record, 0);

	return type == PERF_RECORD_MMAP || type == PERF_RECORD_MMAP2;
}

/* From the newest record back to exec, or into the records of the parent. Each step goes to an
 * older record. */
static int collect_maps(const struct sideband *sb, const struct sideband_ref *ref,
			struct sideband_maps *maps)
{
	int err = 0;

	while (ref && !err) {
		const struct sideband_ref *older = ref > sb->maps.refs ? ref - 1 : NULL;

		if (is_mmap_record(ref)) {
			err = add_map_to_gaps(maps, read_map_record(sb, ref->record));
			ref = older && older->key == ref->key ? older : NULL;
			continue;
		}
		if (sideband_u32(ref->record, 0) == PERF_RECORD_COMM ||
		    sideband_u16(ref->record, 4) & PERF_RECORD_MISC_FORK_EXEC)
			break;
		ref = sideband_last_ref(&sb->maps, (int32_t)sideband_u32(ref->record, FORK_PPID),
					ref->time, ref->record);
	}
	return err;
}

int sideband_maps(const struct sideband *sb, int pid, uint64_t time, struct sideband_maps *ret)
{
	size_t next = sideband_refs_until(&sb->maps, pid, time, NULL);
	const struct sideband_ref *ref = next ? &sb->maps.refs[next - 1] : NULL;
	struct sideband_maps maps = { .until = UINT64_MAX };
	int err;

	if (ref && ref->key == pid) {
		maps.from = ref->time;
		err = collect_maps(sb, ref, &maps);
		if (err) {
			sideband_maps_release(&maps);
			return err;
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
