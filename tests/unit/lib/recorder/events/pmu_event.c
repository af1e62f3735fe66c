// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
/* On a fake root with an Intel CPU's PMU in sysfs. */
#include "recorder/events/events.h"

#include <string.h>

#include "helpers.h"
#include "messages.h"

#define PMU "sys/bus/event_source/devices/cpu/"
#define RATE "proc/sys/kernel/perf_event_max_sample_rate"

static struct messages messages;
static const struct log log_of_test = { messages_add, &messages };

static int make_root(void **state)
{
	if (make_folder(state))
		return -1;
	put_file(folder->fd, PMU "type", "4\n");
	put_file(folder->fd, PMU "format/event", "config:0-7\n");
	put_file(folder->fd, PMU "format/umask", "config:8-15\n");
	put_file(folder->fd, PMU "format/edge", "config:18\n");
	put_file(folder->fd, PMU "format/wide", "config:0-7,32-35\n");
	put_file(folder->fd, PMU "format/ldlat", "config1:0-15\n");
	put_file(folder->fd, PMU "format/all", "config2:0-63\n");
	put_file(folder->fd, PMU "format/bad", "config:7-70\n");
	put_file(folder->fd, PMU "format/none", "");
	put_file(folder->fd, PMU "events/mem-loads", "event=0xcd,umask=0x1,ldlat=3\n");
	put_file(folder->fd, PMU "events/again", "mem-loads\n");
	put_file(folder->fd, PMU "caps/max_precise", "2\n");
	put_file(folder->fd, RATE, "50000\n");
	memset(&messages, 0, sizeof(messages));
	return 0;
}

static int parse(struct perf_event_attr *attr, const char *name)
{
	*attr = (struct perf_event_attr){};
	return pmu_event_parse(attr, folder->fd, name, &log_of_test);
}

TEST(tells_them_from_tracepoints)
{
	static const char *const are[] = { "cycles",	      "cycles:pp",
					   "cycles:zz",	      "r1a8",
					   "r1A8:k",	      "cpu/event=1/",
					   "cpu-clock",	      "cpu-clock/x/:k",
					   "LLC-load-misses", "rffffffffffffffff" };
	static const char *const are_not[] = {
		"sched:sched_switch",
		"red:probed",
		"ras:mc_event",
		"r",
		"r:k",
		"cycles_x",
		"cyclesx:k",
		"",
		":",
		"LLC-loads-misses",
		"r12345678901234567",
		"irq:*",
	};

	for (size_t i = 0; i < ARRAY_SIZE(are); i++)
		assert_true(pmu_event_is_name(are[i]));
	for (size_t i = 0; i < ARRAY_SIZE(are_not); i++)
		assert_false(pmu_event_is_name(are_not[i]));
}

/* Type and config are from `perf record -vv` with the same names. */
TEST_WITH(takes_what_perf_takes, make_root, remove_folder)
{
	static const struct {
		const char *name;
		uint32_t type;
		uint64_t config, config1, rate;
		bool freq;
	} rows[] = {
		{ "cycles", PERF_TYPE_HARDWARE, 0, 0, 750000, false },
		{ "branch-misses", PERF_TYPE_HARDWARE, 5, 0, 750000, false },
		{ "cpu-clock/freq=10000/", PERF_TYPE_SOFTWARE, 0, 0, 10000, true },
		{ "cpu-clock", PERF_TYPE_SOFTWARE, 0, 0, 250000, false },
		{ "context-switches", PERF_TYPE_SOFTWARE, 3, 0, 1, false },
		{ "faults/period=1/u", PERF_TYPE_SOFTWARE, 2, 0, 1, false },
		{ "LLC-load-misses", PERF_TYPE_HW_CACHE, 0x10002, 0, 750000, false },
		{ "L1-dcache-stores", PERF_TYPE_HW_CACHE, 0x100, 0, 750000, false },
		{ "dTLB-prefetch-misses", PERF_TYPE_HW_CACHE, 0x10203, 0, 750000, false },
		{ "r1A8", PERF_TYPE_RAW, 0x1a8, 0, 750000, false },
		{ "cpu/event=0x3c,umask=1,edge/", PERF_TYPE_RAW, 0x4013c, 0, 750000, false },
		{ "cpu/mem-loads,period=0x10/", PERF_TYPE_RAW, 0x1cd, 3, 16, false },
		{ "cpu/wide=0xa12/", PERF_TYPE_RAW, 0xa00000012, 0, 750000, false },
		{ "cpu/config=7,config1=8,umask=3/", PERF_TYPE_RAW, 0x307, 8, 750000, false },
		{ "cpu//", PERF_TYPE_RAW, 0, 0, 750000, false },
	};
	struct perf_event_attr attr;

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		assert_int_equal(parse(&attr, rows[i].name), 0);
		assert_int_equal(attr.type, rows[i].type);
		assert_int_equal(attr.config, rows[i].config);
		assert_int_equal(attr.config1, rows[i].config1);
		assert_int_equal(attr.sample_period, rows[i].rate);
		assert_int_equal(attr.freq, rows[i].freq);
	}
	assert_int_equal(parse(&attr, "cpu/all=0xffffffffffffffff/"), 0);
	assert_true(attr.config2 == UINT64_MAX);
	assert_int_equal(messages.nr, 0);
}

TEST_WITH(takes_modifiers, make_root, remove_folder)
{
	static const struct {
		const char *name;
		bool user, kernel, guest, host; /* excluded */
		unsigned int precise;
	} rows[] = {
		{ "cycles", false, false, true, false, 0 },
		{ "cycles:k", true, false, true, false, 0 },
		{ "cycles:uk", false, false, true, false, 0 },
		{ "cycles:upp", false, true, true, false, 2 },
		{ "cycles:P", false, false, true, false, 2 },
		{ "cycles:G", false, false, false, true, 0 },
		{ "cycles:H", false, false, true, false, 0 },
		{ "cycles:GHp", false, false, false, false, 1 },
		{ "cpu/event=1/k", true, false, true, false, 0 },
		{ "cpu/event=1/:k", true, false, true, false, 0 },
	};
	struct perf_event_attr attr;

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		assert_int_equal(parse(&attr, rows[i].name), 0);
		assert_int_equal(attr.exclude_user, rows[i].user);
		assert_int_equal(attr.exclude_kernel, rows[i].kernel);
		assert_int_equal(attr.exclude_guest, rows[i].guest);
		assert_int_equal(attr.exclude_host, rows[i].host);
		assert_int_equal(attr.precise_ip, rows[i].precise);
	}
	assert_int_equal(parse(&attr, "cycles:ID"), 0);
	assert_true(attr.exclude_idle && attr.pinned);
}

TEST_WITH(refuses, make_root, remove_folder)
{
	static const char unknown[] = "is unknown (period, freq, or see ls "
				      "/sys/bus/event_source/devices/cpu/{format,events})";
	static const struct {
		const char *name, *why;
		int err;
	} rows[] = {
		{ "cycles:x", "not of ukhGHpPID", -EINVAL },
		{ "cycles:pppp", "p at most three times", -EINVAL },
		{ "cycles/event=1/", "term 'event' is unknown (period or freq)", -EINVAL },
		{ "cycles/config=1/", "term 'config' is unknown (period or freq)", -EINVAL },
		{ "cycles/freq=0/", "term 'freq=0': must be 1 to 50000", -EINVAL },
		{ "cycles/freq=50001/", "(kernel.perf_event_max_sample_rate)", -EINVAL },
		{ "cycles/period=0/", "term 'period=0': must be 1 to 9223372036854775807",
		  -EINVAL },
		{ "cycles/period=-1/", "term 'period=-1': not a number", -EINVAL },
		{ "cycles/period= 1/", "term 'period= 1': not a number", -EINVAL },
		{ "cycles/period=1x/", "term 'period=1x': not a number", -EINVAL },
		{ "cycles/period=/", "term 'period=': not a number", -EINVAL },
		{ "cycles/period=99999999999999999999/", "not a number", -EINVAL },
		{ "cycles/period=1", "the second / is missing", -EINVAL },
		{ "cpu/event=0x100/", "'event=0x100': does not fit (config:0-7)", -EINVAL },
		{ "cpu/bad=1/", "does not fit (config:7-70)", -EINVAL },
		{ "cpu/none=1/", "does not fit ()", -EINVAL },
		{ "cpu/what/", unknown, -EINVAL },
		{ "cpu/../", unknown, -EINVAL },
		{ "cpu/again/", unknown, -EINVAL },
		{ "cpu/event=1/2/", "modifiers '2/': not of", -EINVAL },
		{ "gpu/event=1/", "there is no PMU 'gpu'", -ENOENT },
		{ "/event=1/", "there is no PMU ''", -ENOENT },
		{ "../cpu/", "there is no PMU '..'", -ENOENT },
		{ "./cpu/", "there is no PMU '.'", -ENOENT },
	};
	struct perf_event_attr attr;

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		assert_int_equal(parse(&attr, rows[i].name), rows[i].err);
		assert_int_equal(messages.nr, i + 1);
		assert_non_null(strstr(messages.text, rows[i].name));
		assert_non_null(strstr(messages.text, rows[i].why));
		assert_null(strchr(messages.text, '\n'));
	}
}

/* A virtual machine's PMU is not sampled by default. */
TEST_WITH(has_a_default_where_pmus_interrupt_by_nmi, make_root, remove_folder)
{
	struct perf_event_attr attr = {};

	put_file(folder->fd, "proc/cpuinfo", "processor\t: 0\nflags\t\t: fpu hypervisor lahf\n");
	assert_false(pmu_event_default(&attr, folder->fd));
	put_file(folder->fd, "proc/cpuinfo", "processor\t: 0\nFeatures\t: fp asimd\n");
	assert_false(pmu_event_default(&attr, folder->fd));
	put_file(folder->fd, "proc/cpuinfo", "processor\t: 0\nflags\t\t: fpu lahf\n");
	assert_true(pmu_event_default(&attr, folder->fd));
	assert_int_equal(attr.sample_period, 300000);
	assert_false(attr.freq);
	assert_true(attr.exclude_guest);
	assert_true(attr.exclude_callchain_user);
	assert_int_equal(unlinkat(folder->fd, PMU "type", 0), 0);
}
