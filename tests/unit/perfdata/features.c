// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
#include <endian.h>
#include <fcntl.h>
#include <string.h>
#include <sys/utsname.h>

#include "made_file.h"
#include "perfdata.h"
#include "util.h"

#define CPU "sys/devices/system/cpu/"

static const char *const argv[] = { "perf-poke-ctl", "start", "--cpu", "1" };

/* A file with the features of the system in `rootfd`. */
static struct bytes features_of(int rootfd)
{
	struct perfdata_features *features = NULL;

	assert_int_equal(perfdata_features_new(&features, rootfd, "1.2.3", argv, ARRAY_SIZE(argv)),
			 0);
	return write_features(features, "dummy");
}

static void check_string(struct bytes body, const char *expected)
{
	EXPECT(&body, STRING(expected), END);
}

TEST_IN_FOLDER(test_this_system)
{
	_cleanup_close_ int rootfd = open("/", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	struct bytes file = features_of(rootfd);
	struct bytes body;
	struct utsname uts;

	assert_int_equal(uname(&uts), 0);
	check_string(feature(file, 3), uts.nodename);
	check_string(feature(file, 4), uts.release);
	check_string(feature(file, 5), "1.2.3");
	check_string(feature(file, 6), uts.machine);
	body = feature(file, 7);
	assert_true(take_u32(&body) >= (uint32_t)sysconf(_SC_NPROCESSORS_ONLN));
	assert_int_equal(take_u32(&body), sysconf(_SC_NPROCESSORS_ONLN));
	body = feature(file, 10);
	assert_in_range(take_u64(&body), 1, UINT64_MAX);
	body = feature(file, 11);
	assert_int_equal(take_u32(&body), ARRAY_SIZE(argv));
	for (size_t i = 0; i < ARRAY_SIZE(argv); i++)
		assert_string_equal(take_string(&body), argv[i]);
	assert_int_equal(body.len, 0);
	assert_null(feature(file, 24).at);
}

#ifdef __x86_64__
TEST_IN_FOLDER(test_cpuid)
{
	struct bytes file = features_of(folder->fd);
	struct bytes body = feature(file, 9);
	unsigned int family, model, stepping;
	char vendor[13];

	assert_int_equal(
		sscanf(take_string(&body), "%12[^,],%u,%u,%u", vendor, &family, &model, &stepping),
		4);
	assert_in_range(family, 4, 300);
}
#endif

static void put_cpu(int fd, int cpu, const char *package, const char *core)
{
	char path[128];

	snprintf(path, sizeof(path), CPU "cpu%d/topology/physical_package_id", cpu);
	put_file(fd, path, package);
	snprintf(path, sizeof(path), CPU "cpu%d/topology/core_id", cpu);
	put_file(fd, path, core);
	snprintf(path, sizeof(path), CPU "cpu%d/topology/die_id", cpu);
	put_file(fd, path, "5\n");
	snprintf(path, sizeof(path), CPU "cpu%d/topology/package_cpus_list", cpu);
	put_file(fd, path, "0-1,3\n");
	snprintf(path, sizeof(path), CPU "cpu%d/topology/die_cpus_list", cpu);
	put_file(fd, path, "0-1,3\n");
	snprintf(path, sizeof(path), CPU "cpu%d/topology/core_cpus_list", cpu);
	put_file(fd, path, cpu == 3 ? "3\n" : "0-1\n");
}

/* CPU 2 is offline; 0 and 1 are threads of one core. */
TEST_IN_FOLDER(test_topology)
{
	static const uint32_t ids[] = { 7, 0, 7, 0, -1, -1, 9, 0 };
	struct bytes file, body;

	put_file(folder->fd, CPU "present", "0-3\n");
	put_cpu(folder->fd, 0, "0\n", "7\n");
	put_cpu(folder->fd, 1, "0\n", "7\n");
	put_cpu(folder->fd, 3, "0\n", "9\n");
	file = features_of(folder->fd);

	body = feature(file, 7);
	assert_int_equal(take_u32(&body), 4);
	body = feature(file, 13);
	EXPECT(&body, U32(1), STRING("0-1,3"), U32(2), STRING("0-1"), STRING("3"));
	for (size_t i = 0; i < ARRAY_SIZE(ids); i++)
		assert_int_equal(take_u32(&body), ids[i]);
	EXPECT(&body, U32(1), STRING("0-1,3"), U32(5), U32(5), U32(UINT32_MAX), U32(5), END);
}

TEST_IN_FOLDER(test_topology_perf_would_refuse)
{
	struct bytes file;

	put_file(folder->fd, CPU "present", "0\n");
	put_cpu(folder->fd, 0, "36\n", "0\n");
	file = features_of(folder->fd);
	assert_non_null(feature(file, 7).at);
	assert_null(feature(file, 13).at);
}

TEST_IN_FOLDER(test_text_files)
{
	struct bytes file, body;

	put_file(
		folder->fd, "proc/cpuinfo",
		"processor\t: 0\nmodel\t\t: 2\nmodel name\t: Some  CPU   @ 3 GHz\nstepping\t: 1\n");
	put_file(folder->fd, "proc/meminfo", "MemTotal:       24683668 kB\nMemFree:  1 kB\n");
	file = features_of(folder->fd);
	check_string(feature(file, 8), "Some CPU @ 3 GHz");
	body = feature(file, 10);
	EXPECT(&body, U64(24683668), END);
}

TEST_IN_FOLDER(test_cpu_of_arm64)
{
	struct bytes file;

	put_file(folder->fd, "proc/cpuinfo",
		 "processor\t: 0\nFeatures\t: fp asimd\nCPU implementer\t: 0x41\n"
		 "CPU architecture: 8\nCPU variant\t: 0x0\nCPU part\t: 0xd08\nCPU revision\t: 3\n\n"
		 "processor\t: 1\nCPU implementer\t: 0x51\n");
	put_file(folder->fd, CPU "cpu0/regs/identification/midr_el1", "0x00000000410fd083\n");
	file = features_of(folder->fd);
	check_string(feature(file, 8),
		     "implementer 0x41, architecture 8, variant 0x0, part 0xd08, revision 3");
#ifndef __x86_64__
	check_string(feature(file, 9), "0x00000000410fd083");
#endif
}

TEST_IN_FOLDER(test_pmus)
{
	struct bytes file, body;

	put_file(folder->fd, "sys/bus/event_source/devices/software/type", "1\n");
	put_file(folder->fd, "sys/bus/event_source/devices/intel_pt/type", "9\n");
	file = features_of(folder->fd);
	body = feature(file, 16);
	assert_int_equal(take_u32(&body), 2);
	for (int i = 0; i < 2; i++) {
		uint32_t type = take_u32(&body);

		assert_true(type == 1 || type == 9);
		assert_string_equal(take_string(&body), type == 1 ? "software" : "intel_pt");
	}
	assert_int_equal(body.len, 0);
}

static void put_notes(int dirfd, size_t cut)
{
	static const uint32_t notes[] = { 6,	      5,	  0x101,      0x756e694c,
					  0x78,	      1,	  2,	      4,
					  20,	      3,	  0x554e47,   0x03020100,
					  0x07060504, 0x0b0a0908, 0x0f0e0d0c, 0x13121110 };
	_cleanup_close_ int fd = -1;

	put_file(dirfd, "sys/kernel/notes", "");
	fd = openat(dirfd, "sys/kernel/notes", O_WRONLY | O_CLOEXEC);
	assert_int_equal(write(fd, notes, sizeof(notes) - cut), sizeof(notes) - cut);
}

TEST_IN_FOLDER(test_build_id)
{
	struct bytes file, body;

	put_notes(folder->fd, 0);
	file = features_of(folder->fd);
	body = feature(file, 2);
	assert_int_equal(body.len, 100);
	EXPECT(&body, U32(0), U16(1 << 15 | 1), U16(100), U32(UINT32_MAX));
	for (int i = 0; i < 20; i++)
		assert_int_equal(take_u8(&body), i);
	EXPECT(&body, U32(20), CSTRING("[kernel.kallsyms]"));
}

TEST_IN_FOLDER(test_damaged_notes)
{
	struct bytes file;

	put_notes(folder->fd, 4);
	file = features_of(folder->fd);
	assert_null(feature(file, 2).at);
}

TEST_IN_FOLDER(test_bare_system)
{
	static const int absent[] = { 1, 2, 7, 8, 10, 13, 16, 21, 23, 29 };
	struct bytes file = features_of(folder->fd);

	for (size_t i = 0; i < ARRAY_SIZE(absent); i++)
		assert_null(feature(file, absent[i]).at);
}

static void put_tracefs(int fd)
{
	put_file(fd, "events/header_page", "page\n");
	put_file(fd, "events/header_event", "event\n");
	put_file(fd, "events/sched/sched_switch/format",
		 "format of sched_switch, __get_cpumask(a)\n");
	put_file(fd, "events/sched/sched_wakeup/format", "format of sched_wakeup\n");
	put_file(fd, "events/sched/sched_migrate_task/format", "not asked for\n");
	put_file(fd, "events/timer/hrtimer_start/format", "format of hrtimer_start\n");
	put_file(fd, "events/ftrace/function/format", "format of function\n");
}

static struct perfdata_features *new_features(void)
{
	struct perfdata_features *features = NULL;

	assert_int_equal(perfdata_features_new(&features, folder->fd, "1", NULL, 0), 0);
	return features;
}

static struct bytes write_tracing(const char *const *names, size_t nr)
{
	struct perfdata_features *features = new_features();

	assert_int_equal(perfdata_features_add_tracing(features, folder->fd, names, nr), 0);
	return write_features(features, names[0]);
}

static void check_content(struct bytes *body, uint64_t len, const char *expected)
{
	assert_int_equal(len, strlen(expected));
	assert_memory_equal(take(body, len).at, expected, len);
}

static void check_head(struct bytes *body)
{
	assert_memory_equal(take(body, 10).at, "\027\010\104tracing", 10);
	EXPECT(body, CSTRING("0.6"), U8(BYTE_ORDER == BIG_ENDIAN), U8(sizeof(long)),
	       U32(sysconf(_SC_PAGESIZE)), CSTRING("header_page"));
	check_content(body, take_u64(body), "page\n");
	assert_string_equal(take_cstring(body), "header_event");
	check_content(body, take_u64(body), "event\n");
}

TEST_IN_FOLDER(test_formats)
{
	static const char *const names[] = { "sched:sched_switch", "timer:hrtimer_start",
					     "sched:sched_wakeup", "sched:sched_switch",
					     "ftrace:function" };
	struct bytes file, body;

	put_tracefs(folder->fd);
	put_file(folder->fd, "printk_formats", "0xffffffff82000000 : \"rcu\"\n");
	put_file(folder->fd, "saved_cmdlines", "1 init\n2 kthreadd\n");
	file = write_tracing(names, ARRAY_SIZE(names));

	body = feature(file, 1);
	check_head(&body);
	EXPECT(&body, U32(0), U32(3), CSTRING("sched"), U32(2));
	check_content(&body, take_u64(&body), "format of sched_switch, __get_bitmask(a)\n");
	check_content(&body, take_u64(&body), "format of sched_wakeup\n");
	EXPECT(&body, CSTRING("timer"), U32(1));
	check_content(&body, take_u64(&body), "format of hrtimer_start\n");
	EXPECT(&body, CSTRING("ftrace"), U32(1));
	check_content(&body, take_u64(&body), "format of function\n");
	assert_int_equal(take_u32(&body), 0);
	check_content(&body, take_u32(&body), "0xffffffff82000000 : \"rcu\"\n");
	check_content(&body, take_u64(&body), "1 init\n2 kthreadd\n");
	assert_int_equal(body.len, 0);
}

TEST_IN_FOLDER(test_optional_files)
{
	static const char *const names[] = { "timer:hrtimer_start" };
	struct bytes file, body;

	put_tracefs(folder->fd);
	file = write_tracing(names, ARRAY_SIZE(names));
	body = feature(file, 1);
	check_head(&body);
	EXPECT(&body, U32(0), U32(1), CSTRING("timer"), U32(1));
	check_content(&body, take_u64(&body), "format of hrtimer_start\n");
	EXPECT(&body, U32(0), U32(0), U64(0), END);
}

TEST_IN_FOLDER(test_bad_names)
{
	static const struct {
		const char *name;
		int error;
	} cases[] = {
		{ "sched", -EINVAL },	  { ":sched_switch", -EINVAL },
		{ "sched:", -EINVAL },	  { "../x:sched_switch", -EINVAL },
		{ "sched:a:b", -EINVAL }, { "sched:no_such_event", -ENOENT },
	};
	struct perfdata_features *features = new_features();

	put_tracefs(folder->fd);
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		const char *const names[] = { "sched:sched_switch", cases[i].name };

		assert_int_equal(perfdata_features_add_tracing(features, folder->fd, names,
							       ARRAY_SIZE(names)),
				 cases[i].error);
	}
	perfdata_features_free(features);
}

TEST_IN_FOLDER(test_no_tracefs)
{
	static const char *const names[] = { "sched:sched_switch" };
	struct perfdata_features *features = new_features();

	assert_int_equal(perfdata_features_add_tracing(features, folder->fd, names, 1), -ENOENT);
	perfdata_features_free(features);
}
