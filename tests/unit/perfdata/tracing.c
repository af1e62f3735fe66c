// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
#include "made_file.h"
#include "perfdata.h"
#include "util.h"

#include <endian.h>
#include <string.h>

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
