// SPDX-License-Identifier: GPL-2.0-only
#include "code/sideband_internal.h"

#include <string.h>

#include "analysis/made.h"
#include "test.h"

#define EXEC PERF_RECORD_MISC_COMM_EXEC
#define USER PERF_RECORD_MISC_USER
#define KERNEL PERF_RECORD_MISC_KERNEL
#define ID_A "aaaaaaaaaaaaaaaaaaaa"
#define ID_B "bbbbbbbbbbbbbbbbbbbb"

static void check_task(const struct sideband_task *task, uint64_t time, uint64_t latest,
		       int32_t pid, int32_t tid)
{
	assert_int_equal(task->time, time);
	assert_int_equal(task->latest, latest);
	assert_int_equal(task->pid, pid);
	assert_int_equal(task->tid, tid);
}

/* CPU 1: a switch that lost its second record, one that lost its first, one at the end. */
TEST(tells_who_runs)
{
	const struct sideband_task *tasks;
	struct made made = {};
	struct made_opened opened;
	size_t nr;

	made_switch(&made, 1, 100, true, 7, 8, 0, 0);
	made_switch(&made, 1, 110, false, 0, 0, 7, 8);
	made_switch(&made, 2, 105, false, 70, 80, 0, 0);
	made_switch(&made, 1, 200, true, 0, 0, 9, 9);
	made_switch(&made, 1, 300, false, 10, 11, 9, 9);
	made_switch(&made, 1, 400, true, 10, 11, 0, 0);
	opened = made_open(&made);
	tasks = sideband_tasks(opened.sb, 1, &nr);
	assert_int_equal(nr, 5);
	check_task(&tasks[0], 0, 0, 7, 8);
	check_task(&tasks[1], 100, 110, 0, 0);
	check_task(&tasks[2], 200, 300, 9, 9);
	check_task(&tasks[3], 300, 300, 10, 11);
	check_task(&tasks[4], 400, UINT64_MAX, 0, 0);
	tasks = sideband_tasks(opened.sb, 2, &nr);
	assert_int_equal(nr, 1);
	check_task(tasks, 105, 105, 70, 80);
	sideband_tasks(opened.sb, 0, &nr);
	assert_int_equal(nr, 0);
	sideband_tasks(opened.sb, -1, &nr);
	assert_int_equal(nr, 0);
	sideband_tasks(opened.sb, 100000, &nr);
	assert_int_equal(nr, 0);
	made_close(&opened);
}

/* A CPU's rings come one after another, with records out of order. */
TEST(sorts_tasks)
{
	static const uint32_t start[] = { 5, 6 };
	const struct sideband_task *tasks;
	struct made made = {};
	struct made_opened opened;
	size_t nr;

	made_switch(&made, 0, 100, true, 5, 6, 0, 0);
	made_switch(&made, 0, 103, false, 0, 0, 5, 6);
	made_event(&made, PERF_RECORD_ITRACE_START, 0, start, sizeof(start),
		   (struct made_id){ 5, 6, 50, 0 });
	/* Without CPU-wide records the next task is unknown. */
	made_event(&made, PERF_RECORD_SWITCH, PERF_RECORD_MISC_SWITCH_OUT, NULL, 0,
		   (struct made_id){ 5, 6, 70, 0 });
	opened = made_open(&made);
	tasks = sideband_tasks(opened.sb, 0, &nr);
	assert_int_equal(nr, 4);
	check_task(&tasks[1], 50, 50, 5, 6);
	check_task(&tasks[2], 70, 70, -1, -1);
	check_task(&tasks[3], 100, 103, 0, 0);
	made_close(&opened);
}

TEST(knows_names)
{
	struct made made = {};
	struct made_opened opened;

	made_comm(&made, 0, 10, 10, "shell", 0);
	made_fork(&made, 20, 10, 20, 10, 100);
	made_comm(&made, EXEC, 20, 20, "program", 200);
	made_fork(&made, 20, 20, 21, 20, 300);
	made_comm(&made, 0, 20, 21, "worker", 400);
	made_comm(&made, 0, 10, 10, "renamed", 500);
	/* The number is reused. */
	made_fork(&made, 10, 10, 21, 10, 600);
	opened = made_open(&made);
	assert_string_equal(sideband_comm(opened.sb, 10, 5), "shell");
	assert_null(sideband_comm(opened.sb, 20, 99));
	assert_string_equal(sideband_comm(opened.sb, 20, 100), "shell");
	assert_string_equal(sideband_comm(opened.sb, 20, 200), "program");
	assert_string_equal(sideband_comm(opened.sb, 21, 399), "program");
	assert_string_equal(sideband_comm(opened.sb, 21, 400), "worker");
	assert_string_equal(sideband_comm(opened.sb, 21, 599), "worker");
	assert_string_equal(sideband_comm(opened.sb, 21, 600), "renamed");
	assert_string_equal(sideband_comm(opened.sb, 0, 0), "swapper");
	assert_null(sideband_comm(opened.sb, 99, 1000));
	made_close(&opened);
}

static void check_map(const struct sideband_map *map, uint64_t start, uint64_t end, uint64_t pgoff,
		      const char *name, const char *build_id)
{
	assert_int_equal(map->start, start);
	assert_int_equal(map->end, end);
	assert_int_equal(map->pgoff, pgoff);
	assert_string_equal(map->name, name);
	assert_int_equal(map->build_id_size, build_id ? 20 : 0);
	if (build_id)
		assert_memory_equal(map->build_id, build_id, 20);
}

static struct sideband_maps maps_of(const struct made_opened *opened, int pid, uint64_t time,
				    size_t nr, uint64_t from, uint64_t until)
{
	struct sideband_maps maps;

	assert_int_equal(sideband_maps(opened->sb, pid, time, &maps), 0);
	assert_int_equal(maps.nr, nr);
	assert_int_equal(maps.from, from);
	assert_int_equal(maps.until, until);
	return maps;
}

static void make_maps(struct made *made)
{
	made_mmap(made, USER, 10, 0x1000, 0x3000, 0, "/bin/shell", ID_A, 0);
	made_mmap(made, USER, 10, 0x8000, 0x1000, 0x5000, "/lib", NULL, 0);
	made_fork(made, 20, 10, 20, 10, 100);
	made_mmap(made, USER, 10, 0x9000, 0x1000, 0, "/of/the/parent", NULL, 150);
	made_mmap(made, USER, 20, 0x2000, 0x1000, 0x7000, "/over", NULL, 200);
	made_comm(made, EXEC, 20, 20, "program", 300);
	made_mmap(made, USER, 20, 0x4000, 0x1000, 0, "/bin/program", ID_B, 310);
}

TEST(inherits_maps)
{
	struct made made = {};
	struct made_opened opened;
	struct sideband_maps maps;

	make_maps(&made);
	opened = made_open(&made);
	maps = maps_of(&opened, 20, 99, 0, 0, 100);
	sideband_maps_release(&maps);
	maps = maps_of(&opened, 20, 199, 2, 100, 200);
	check_map(&maps.maps[0], 0x1000, 0x4000, 0, "/bin/shell", ID_A);
	check_map(&maps.maps[1], 0x8000, 0x9000, 0x5000, "/lib", NULL);
	sideband_maps_release(&maps);
	/* A mapping within another. */
	maps = maps_of(&opened, 20, 200, 4, 200, 300);
	check_map(&maps.maps[0], 0x1000, 0x2000, 0, "/bin/shell", ID_A);
	check_map(&maps.maps[1], 0x2000, 0x3000, 0x7000, "/over", NULL);
	check_map(&maps.maps[2], 0x3000, 0x4000, 0x2000, "/bin/shell", ID_A);
	sideband_maps_release(&maps);
	maps = maps_of(&opened, 20, 305, 0, 300, 310);
	sideband_maps_release(&maps);
	maps = maps_of(&opened, 20, UINT64_MAX, 1, 310, UINT64_MAX);
	check_map(&maps.maps[0], 0x4000, 0x5000, 0, "/bin/program", ID_B);
	sideband_maps_release(&maps);
	maps = maps_of(&opened, 10, 1000, 3, 150, UINT64_MAX);
	sideband_maps_release(&maps);
	maps = maps_of(&opened, 30, 1000, 0, 0, UINT64_MAX);
	sideband_maps_release(&maps);
	made_close(&opened);
}

/* The build ID table applies to files whose records have none. */
TEST(takes_build_ids_of_table)
{
	static const struct {
		uint32_t type;
		uint16_t misc, size;
		uint32_t pid;
		char id[20];
		uint8_t id_size, reserved[3];
		char name[12];
	} entry = { 0, USER, sizeof(entry), 0, ID_B, 0, {}, "/lib" };
	struct made made = { .feature = PERFDATA_FEATURE_BUILD_ID };
	struct sideband_maps maps;
	struct made_opened opened;

	make_maps(&made);
	made.features.data = malloc(sizeof(entry));
	made.features.len = sizeof(entry);
	memcpy(made.features.data, &entry, sizeof(entry));
	opened = made_open(&made);
	maps = maps_of(&opened, 10, 0, 2, 0, 150);
	check_map(&maps.maps[0], 0x1000, 0x4000, 0, "/bin/shell", ID_A);
	check_map(&maps.maps[1], 0x8000, 0x9000, 0x5000, "/lib", ID_B);
	sideband_maps_release(&maps);
	made_close(&opened);
}

static void make_pokes(struct made *made)
{
	static const struct {
		uint64_t addr;
		uint32_t len;
		uint16_t type, flags;
		char name[16];
	} symbol = { 0xffffffffa0000000, 64, 1, 0, "bpf_prog_1" };
	static const struct {
		uint64_t addr;
		uint16_t old_len, new_len;
		char bytes[4];
	} poke = { 0xffffffff81000000, 2, 2, { 'o', 'l', 'n', 'w' } },
	  long_poke = { 1, 200, 200, {} };

	made_event(made, PERF_RECORD_TEXT_POKE, 0, &poke, sizeof(poke),
		   (struct made_id){ .time = 20 });
	made_event(made, PERF_RECORD_TEXT_POKE, 0, &poke, sizeof(poke),
		   (struct made_id){ .time = 10 });
	made_event(made, PERF_RECORD_TEXT_POKE, 0, &long_poke, sizeof(long_poke),
		   (struct made_id){ .time = 10 });
	made_event(made, PERF_RECORD_KSYMBOL, 0, &symbol, sizeof(symbol),
		   (struct made_id){ .time = 30 });
}

TEST(knows_the_kernel)
{
	const struct sideband_kernel *kernel;
	struct made made = {};
	struct made_opened opened;

	made_mmap(&made, KERNEL, -1, 0xffffffffc0000000, 0x1000, 0, "[module]", NULL, 0);
	made_mmap(&made, KERNEL, -1, 0xffffffff81000000, 0x1000, 0xffffffff81000000,
		  "[kernel.kallsyms]_text", ID_A, 0);
	make_pokes(&made);
	opened = made_open(&made);
	kernel = sideband_kernel(opened.sb);
	assert_int_equal(kernel->nr_maps, 2);
	check_map(&kernel->maps[0], 0xffffffff81000000, 0xffffffff81001000, 0xffffffff81000000,
		  "[kernel.kallsyms]_text", ID_A);
	check_map(&kernel->maps[1], 0xffffffffc0000000, 0xffffffffc0001000, 0, "[module]", NULL);
	assert_int_equal(kernel->nr_pokes, 2);
	assert_int_equal(kernel->pokes[0].time, 10);
	assert_int_equal(kernel->pokes[1].addr, 0xffffffff81000000);
	assert_memory_equal(kernel->pokes[1].old_bytes, "ol", 2);
	assert_memory_equal(kernel->pokes[1].new_bytes, "nw", 2);
	assert_int_equal(kernel->nr_ksymbols, 1);
	assert_int_equal(kernel->ksymbols[0].start, 0xffffffffa0000000);
	assert_string_equal(kernel->ksymbols[0].name, "bpf_prog_1");
	made_close(&opened);
}

TEST(tells_what_was_lost)
{
	static const uint64_t lost[] = { 0, 5 };
	static const uint64_t aux[] = { 0, 4096,
					PERF_AUX_FLAG_TRUNCATED | PERF_AUX_FLAG_OVERWRITE };
	const struct sideband_lost *found;
	struct made made = {};
	struct made_opened opened;
	size_t nr;

	made_event(&made, PERF_RECORD_LOST, 0, lost, sizeof(lost),
		   (struct made_id){ .time = 20, .cpu = 1 });
	made_event(&made, PERF_RECORD_AUX, 0, aux, sizeof(aux),
		   (struct made_id){ .time = 10, .cpu = 3 });
	opened = made_open(&made);
	found = sideband_lost(opened.sb, &nr);
	assert_int_equal(nr, 2);
	assert_int_equal(found[0].time, 20);
	assert_int_equal(found[0].records, 5);
	assert_int_equal(found[1].records, 0);
	assert_int_equal(found[1].cpu, 3);
	made_close(&opened);
}

TEST(reads_what_pt_is_like)
{
	static const struct {
		uint32_t len;
		char text[64];
	} cpuid = { 64, "GenuineIntel,6,85,4" };
	static const uint64_t index[] = { 2, 103, 3, 3, -1, 100, 0, 0, -1 };
	struct made made = { .feature = PERFDATA_FEATURE_CPUID };
	const struct sideband_pt *pt;
	struct made_opened opened;

	made_info(&made, 31, 1000000, 77);
	made_record(&made, PERFDATA_RECORD_ID_INDEX, 0, index, sizeof(index));
	made.features.data = malloc(sizeof(cpuid));
	made.features.len = sizeof(cpuid);
	memcpy(made.features.data, &cpuid, sizeof(cpuid));
	opened = made_open(&made);
	pt = sideband_pt(opened.sb);
	assert_true(pt->found && pt->kernel && !pt->user);
	assert_string_equal(pt->vendor, "GenuineIntel");
	assert_int_equal(pt->family, 6);
	assert_int_equal(pt->model, 85);
	assert_int_equal(pt->stepping, 4);
	assert_int_equal(pt->clock.shift, 31);
	assert_int_equal(pt->clock.mult, 1000000);
	assert_int_equal(pt->clock.zero, 77);
	assert_int_equal(pt->mtc_period, 3);
	assert_int_equal(sideband_find_id(opened.sb, 103)->cpu, 3);
	assert_null(sideband_find_id(opened.sb, 101));
	made_close(&opened);
}

static void check_refused(struct made *made, int error, const char *what)
{
	struct sideband *sb = NULL;
	struct perfdata_file file;
	char *why;

	made_map(made, &file);
	assert_int_equal(sideband_new(&sb, &file, &why), error);
	assert_null(sb);
	assert_non_null(strstr(why, what));
	free(why);
	perfdata_unmap(&file);
}

static void check_ranges(const char *filter, size_t nr, struct sideband_range last)
{
	struct made made = {};
	struct made_opened opened;
	const struct sideband_pt *pt;
	uint64_t fields[PERFDATA_PT_NR] = {};

	assert_int_equal(perfdata_put_pt_info(&made.data, fields, filter), 0);
	opened = made_open(&made);
	pt = sideband_pt(opened.sb);
	assert_int_equal(pt->nr_ranges, nr);
	if (nr) {
		assert_int_equal(pt->ranges[nr - 1].first, last.first);
		assert_int_equal(pt->ranges[nr - 1].last, last.last);
		assert_int_equal(pt->ranges[nr - 1].stop, last.stop);
	}
	made_close(&opened);
}

TEST(reads_the_address_filter)
{
	static const char *const unknown[] = {
		"",
		"start 0x100",
		"filter",
		"filter ,",
		"filter main",
		"filter 0x100/0x80@/bin/true",
		"filter 0x1000/0x80,filter 0x100/0x80@/bin/true",
		"filter 0x100/0",
		"filter 1/1 filter 2/1 filter 3/1 filter 4/1 filter 5/1",
	};

	for (size_t i = 0; i < ARRAY_SIZE(unknown); i++)
		check_ranges(unknown[i], 0, (struct sideband_range){ 0 });
	check_ranges("filter 0xffffffff81000000/0x100", 1,
		     (struct sideband_range){ 0xffffffff81000000, 0xffffffff810000ff, false });
	check_ranges("filter 0x100/0x10,tracestop 0x200", 2,
		     (struct sideband_range){ 0x200, 0x200, true });
	check_ranges("filter 0x100/16, filter 0x300/0x10 ", 2,
		     (struct sideband_range){ 0x300, 0x30f, false });
}

TEST(refuses)
{
	struct made empty = {}, compressed = {};
	struct made folder = { .feature = PERFDATA_FEATURE_DIR_FORMAT };

	check_refused(&empty, -EINVAL, "did not finish");
	made_record(&compressed, PERFDATA_RECORD_COMPRESSED, 0, NULL, 0);
	check_refused(&compressed, -ENOTSUP, "perf record -z");
	made_comm(&folder, 0, 1, 1, "init", 0);
	folder.features.data = calloc(1, 8);
	folder.features.data[0] = 1;
	folder.features.len = 8;
	check_refused(&folder, -ENOTSUP, "perf record --threads");
}

/* Of one time, only what comes before a record precedes it. */
TEST(finds_what_precedes)
{
	const uint8_t records[3] = {};
	struct sideband_refs refs = {};

	assert_int_equal(sideband_add_ref(&refs, 8, 50, &records[2]), 0);
	assert_int_equal(sideband_add_ref(&refs, 7, 100, &records[1]), 0);
	assert_int_equal(sideband_add_ref(&refs, 7, 100, &records[0]), 0);
	sideband_sort_refs(&refs);
	assert_int_equal(sideband_refs_until(&refs, 7, 99, NULL), 0);
	assert_int_equal(sideband_refs_until(&refs, 7, 100, NULL), 2);
	assert_int_equal(sideband_refs_until(&refs, 7, 100, &records[1]), 1);
	assert_int_equal(sideband_refs_until(&refs, 8, 50, NULL), 3);
	assert_ptr_equal(sideband_last_ref(&refs, 7, 100, &records[1])->record, &records[0]);
	assert_null(sideband_last_ref(&refs, 7, 100, &records[0]));
	assert_null(sideband_last_ref(&refs, 8, 49, NULL));
	free(refs.refs);
}

/* A kernel's values on a CPU of 2.4 GHz. */
static const struct trace_clock clock = { .zero = 1000, .mult = 447392427, .shift = 30 };

TEST(converts)
{
	assert_int_equal(trace_clock_ns(&clock, 0), 1000);
	assert_int_equal(trace_clock_ns(&clock, 2400000), 1001000);
	assert_int_equal(trace_clock_tsc(&clock, 1001000), 2399999);
	/* Months of uptime: the product exceeds 64 bits. */
	assert_int_equal(trace_clock_ns(&clock, UINT64_C(1) << 54),
			 1000 + UINT64_C(7505999384543232));
	assert_in_range(trace_clock_tsc(&clock, trace_clock_ns(&clock, UINT64_C(1) << 54)),
			(UINT64_C(1) << 54) - 3, UINT64_C(1) << 54);
}

TEST(knows_no_relation)
{
	static const struct trace_clock none = { .zero = 1, .shift = 20 };

	assert_int_equal(trace_clock_ns(&none, 5), 0);
	assert_int_equal(trace_clock_tsc(&none, 5), 0);
}

/* For a TSC of 32 bits. */
TEST(converts_short_ones)
{
	struct trace_clock narrow = clock;

	narrow.is_short = true;
	narrow.cycles = UINT64_C(0x5fffffff0);
	narrow.mask = UINT32_MAX;
	assert_int_equal(trace_clock_ns(&narrow, 0xfffffff4),
			 trace_clock_ns(&clock, UINT64_C(0x5fffffff4)));
	assert_int_equal(trace_clock_ns(&narrow, 4), trace_clock_ns(&clock, UINT64_C(0x600000004)));
}

TEST(extends)
{
	assert_int_equal(trace_clock_extend(5, 7), 5);
	assert_int_equal(trace_clock_extend(9, (UINT64_C(3) << 56) + 7), (UINT64_C(3) << 56) + 9);
	assert_int_equal(trace_clock_extend(5, (UINT64_C(3) << 56) - 2), (UINT64_C(3) << 56) + 5);
	assert_int_equal(trace_clock_extend((UINT64_C(1) << 56) - 2, (UINT64_C(3) << 56) + 5),
			 (UINT64_C(3) << 56) - 2);
}
