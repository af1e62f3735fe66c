// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
/* In a folder for the root: /proc, cgroups of both versions, debugfs. */
#include "capture/capture_internal.h"

#include "helpers.h"

static void check(int tid, const char *expected)
{
	struct json_object *json = scheduling_json(folder->fd, tid);

	assert_string_equal(json_object_to_json_string_ext(
				    json, JSON_C_TO_STRING_PLAIN | JSON_C_TO_STRING_NOSLASHESCAPE),
			    expected);
	json_object_put(json);
}

#define NO_QUOTA                                                                                   \
	"\"cgroup\":null,\"quota_us\":null,\"quota_period_us\":null,\"nr_throttled\":null,"        \
	"\"throttled_us\":null}"

TEST_IN_FOLDER(knows_limits_on_real_time_threads)
{
	check(7, "{\"rt_runtime_us\":null,\"rt_period_us\":null,\"fair_server\":null," NO_QUOTA);
	put_file(folder->fd, "proc/sys/kernel/sched_rt_runtime_us", "-1\n");
	put_file(folder->fd, "proc/sys/kernel/sched_rt_period_us", "1000000\n");
	put_file(folder->fd, "sys/kernel/debug/sched/features", "\n");
	check(7, "{\"rt_runtime_us\":-1,\"rt_period_us\":1000000,\"fair_server\":false," NO_QUOTA);
	put_file(folder->fd, "sys/kernel/debug/sched/fair_server/cpu0/runtime", "1\n");
	check(7, "{\"rt_runtime_us\":-1,\"rt_period_us\":1000000,\"fair_server\":true," NO_QUOTA);
}

#define UNKNOWN "{\"rt_runtime_us\":null,\"rt_period_us\":null,\"fair_server\":null,"
#define MOUNT "proc/self/mountinfo"

TEST_IN_FOLDER(finds_the_nearest_quota)
{
	put_file(folder->fd, "proc/7/cgroup", "0::/a/b/c\n");
	check(7, UNKNOWN NO_QUOTA);
	put_file(folder->fd, MOUNT,
		 "20 1 0:5 / /proc rw - proc proc rw\n"
		 "30 1 0:6 /part /else rw - cgroup2 cgroup rw\n"
		 "31 1 0:6 / /sys/fs/cgroup rw shared:4 - cgroup2 cgroup rw,nsdelegate\n");
	check(7, UNKNOWN NO_QUOTA);
	put_file(folder->fd, "sys/fs/cgroup/a/b/c/cpu.max", "max 100000\n");
	put_file(folder->fd, "sys/fs/cgroup/a/b/cpu.max", "20000 100000\n");
	put_file(folder->fd, "sys/fs/cgroup/a/cpu.max", "70000 100000\n");
	put_file(folder->fd, "sys/fs/cgroup/a/b/cpu.stat",
		 "usage_usec 5\nnr_periods 9\nnr_throttled 3\nthrottled_usec 123456\n");
	check(7, UNKNOWN "\"cgroup\":\"/a/b\",\"quota_us\":20000,\"quota_period_us\":100000,"
			 "\"nr_throttled\":3,\"throttled_us\":123456}");
	/* No thread, or one that has ended. */
	check(0, UNKNOWN NO_QUOTA);
	check(8, UNKNOWN NO_QUOTA);
}

TEST_IN_FOLDER(finds_the_quota_of_version_1)
{
	put_file(folder->fd, "proc/7/cgroup",
		 "0::/other\n3:cpuset:/x\n2:cpuacct,cpu:/a/b\n1:name=systemd:/\n");
	put_file(folder->fd, MOUNT,
		 "31 1 0:6 / /sys/fs/cgroup/unified rw - cgroup2 cgroup rw\n"
		 "32 1 0:7 / /sys/fs/cgroup/cpuset rw - cgroup cgroup rw,cpuset\n"
		 "33 1 0:8 / /sys/fs/cgroup/cpu,cpuacct rw - cgroup cgroup rw,cpuacct,cpu\n");
	put_file(folder->fd, "sys/fs/cgroup/cpu,cpuacct/a/b/cpu.cfs_quota_us", "-1\n");
	put_file(folder->fd, "sys/fs/cgroup/cpu,cpuacct/a/b/cpu.cfs_period_us", "100000\n");
	put_file(folder->fd, "sys/fs/cgroup/cpu,cpuacct/a/cpu.cfs_quota_us", "50000\n");
	put_file(folder->fd, "sys/fs/cgroup/cpu,cpuacct/a/cpu.cfs_period_us", "10000\n");
	check(7, UNKNOWN "\"cgroup\":\"/a\",\"quota_us\":50000,\"quota_period_us\":10000,"
			 "\"nr_throttled\":null,\"throttled_us\":null}");
	put_file(folder->fd, "sys/fs/cgroup/cpu,cpuacct/a/cpu.stat",
		 "nr_periods 9\nnr_throttled 3\nthrottled_time 123456789\n");
	check(7, UNKNOWN "\"cgroup\":\"/a\",\"quota_us\":50000,\"quota_period_us\":10000,"
			 "\"nr_throttled\":3,\"throttled_us\":123456}");
	put_file(folder->fd, "proc/7/cgroup", "2:cpuacct,cpu:/\n");
	check(7, UNKNOWN NO_QUOTA);
}
