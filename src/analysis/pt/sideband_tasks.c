// SPDX-License-Identifier: GPL-2.0-only
/* Where tasks ran, and their names. */
#include "pt/sideband_internal.h"

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

static struct sideband_cpu *find_cpu(struct sideband *sb, int32_t cpu)
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

static int add_task(struct sideband_cpu *cpu, struct sideband_task task)
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
static int switch_in(struct sideband_cpu *cpu, uint64_t time, int32_t pid, int32_t tid)
{
	struct sideband_task *last = cpu->nr ? &cpu->tasks[cpu->nr - 1] : NULL;

	if (last && last->tid == tid && last->latest == NOT_KNOWN && last->time <= time) {
		last->latest = time;
		return 0;
	}
	return add_task(cpu, (struct sideband_task){ time, time, pid, tid });
}

/* The first task to switch out ran before. */
static int switch_out(struct sideband_cpu *cpu, const struct perfdata_sample *sample, int32_t pid,
		      int32_t tid, uint64_t latest)
{
	int r = 0;

	if (!cpu->nr && sample->tid >= 0)
		r = add_task(cpu, (struct sideband_task){ 0, 0, sample->pid, sample->tid });
	return r ? r : add_task(cpu, (struct sideband_task){ sample->time, latest, pid, tid });
}

static int take_switch(struct sideband *sb, const struct sideband_record *taken)
{
	const struct perfdata_record *record = taken->record;
	const struct perfdata_sample *sample = &taken->sample;
	struct sideband_cpu *cpu;

	if (sample->cpu < 0 || sample->cpu >= CPUS_MAX)
		return 0;
	cpu = find_cpu(sb, sample->cpu);
	if (!cpu)
		return -ENOMEM;
	if (record->type == PERF_RECORD_ITRACE_START)
		return record->size < START_SIZE
			       ? 0
			       : switch_in(cpu, sample->time,
					   (int32_t)sideband_u32(record->bytes, START_PID),
					   (int32_t)sideband_u32(record->bytes, START_TID));
	if (!(record->misc & PERF_RECORD_MISC_SWITCH_OUT))
		return switch_in(cpu, sample->time, sample->pid, sample->tid);
	if (record->type == PERF_RECORD_SWITCH)
		return switch_out(cpu, sample, -1, -1, sample->time);
	return record->size < SWITCH_SIZE
		       ? 0
		       : switch_out(cpu, sample, (int32_t)sideband_u32(record->bytes, SWITCH_PID),
				    (int32_t)sideband_u32(record->bytes, SWITCH_TID), NOT_KNOWN);
}

static int take_name(struct sideband *sb, const struct sideband_record *taken)
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
		return take_switch(sb, taken);
	case PERF_RECORD_COMM:
	case PERF_RECORD_FORK:
		return take_name(sb, taken);
	}
	return 0;
}

static int compare_tasks(const void *a, const void *b)
{
	const struct sideband_task *one = a, *other = b;

	return array_compare(one->time, other->time) ?: array_compare(one->latest, other->latest);
}

static void finish_cpu(struct sideband_cpu *cpu)
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
		finish_cpu(&sb->cpus[i]);
	sideband_sort_refs(&sb->names);
}

const struct sideband_task *sideband_tasks(const struct sideband *sb, int cpu, size_t *nr)
{
	bool is_known = cpu >= 0 && (size_t)cpu < sb->nr_cpus;

	*nr = is_known ? sb->cpus[cpu].nr : 0;
	return is_known ? sb->cpus[cpu].tasks : NULL;
}

static bool is_comm(const struct sideband_ref *ref)
{
	return sideband_u32(ref->record, 0) == PERF_RECORD_COMM;
}

/* A forked task has the name that its parent had then. Each step goes to an older record. */
const char *sideband_comm(const struct sideband *sb, int tid, uint64_t time)
{
	const uint8_t *before = NULL;
	const struct sideband_ref *ref;

	while ((ref = sideband_last_ref(&sb->names, tid, time, before))) {
		if (is_comm(ref))
			return (const char *)ref->record + COMM_NAME;
		tid = (int32_t)sideband_u32(ref->record, FORK_PTID);
		time = ref->time;
		before = ref->record;
	}
	return tid ? NULL : "swapper";
}
