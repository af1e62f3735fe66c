// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
#include "cpulist.h"

#include <sched.h>

#include "test.h"

/* The list after reading and writing it. */
static void check_list(const char *text, const char *canonical, size_t expected)
{
	_cleanup_free_ int *cpus = NULL;
	_cleanup_free_ char *list = NULL;
	size_t nr = 0;

	assert_int_equal(cpulist_parse(text, &cpus, &nr), 0);
	assert_int_equal(nr, expected);
	for (size_t i = 1; i < nr; i++)
		assert_true(cpus[i - 1] < cpus[i]);
	assert_int_equal(cpulist_format(cpus, nr, &list), 0);
	assert_string_equal(list, canonical);
}

TEST(parses_lists)
{
	check_list("0", "0", 1);
	check_list("2,4-7", "2,4-7", 5);
	check_list("7,4-6,2,2", "2,4-7", 5);
	check_list("4-7,5-9", "4-9", 6);
	check_list("3-3", "3", 1);
	check_list("0,1", "0-1", 2);
	check_list("03", "3", 1);
	check_list("0-8191", "0-8191", 8192);
	check_list("8191", "8191", 1);
}

TEST(refuses_lists)
{
	static const struct {
		const char *text;
		int r;
	} rows[] = {
		{ "", -EINVAL },
		{ "a", -EINVAL },
		{ "3-1", -EINVAL },
		{ "1,,2", -EINVAL },
		{ ",1", -EINVAL },
		{ "1,", -EINVAL },
		{ "-1", -EINVAL },
		{ "1-", -EINVAL },
		{ "1-2-3", -EINVAL },
		{ " 1", -EINVAL },
		{ "1 ", -EINVAL },
		{ "1, 2", -EINVAL },
		{ "0-7:2", -EINVAL },
		{ "1\n", -EINVAL },
		{ "0x1", -EINVAL },
		{ "8192", -ERANGE },
		{ "0-8192", -ERANGE },
		{ "1,9000-9001", -ERANGE },
		{ "99999999999", -ERANGE },
		{ "9000,x", -EINVAL },
		{ "4294967296", -ERANGE },
	};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		int *cpus = (int *)-1;
		size_t nr = 4711;

		assert_int_equal(cpulist_parse(rows[i].text, &cpus, &nr), rows[i].r);
		assert_ptr_equal(cpus, (int *)-1);
		assert_int_equal(nr, 4711);
	}
}

TEST(formats_nothing)
{
	_cleanup_free_ char *list = NULL;

	assert_int_equal(cpulist_format(NULL, 0, &list), 0);
	assert_string_equal(list, "");
}

static int read_text(const char *text, int **cpus, size_t *nr)
{
	char path[] = "/tmp/cpulist-XXXXXX";
	_cleanup_close_ int fd = mkstemp(path);
	int r;

	assert_true(fd >= 0);
	assert_true(dprintf(fd, "%s", text) >= 0);
	r = cpulist_read(path, cpus, nr);
	unlink(path);
	return r;
}

TEST(reads_files)
{
	_cleanup_free_ int *cpus = NULL;
	int *none = NULL;
	size_t nr = 0;

	assert_int_equal(read_text("1,3-4\n", &cpus, &nr), 0);
	assert_int_equal(nr, 3);
	assert_int_equal(cpus[2], 4);
	assert_int_equal(read_text("\n", &none, &nr), 0);
	assert_null(none);
	assert_int_equal(nr, 0);
	assert_int_equal(read_text("", &none, &nr), -EINVAL);
	assert_int_equal(read_text("1 3\n", &none, &nr), -EINVAL);
	assert_int_equal(cpulist_read("/nonexistent/online", &none, &nr), -ENOENT);
}

TEST(finds_what_is_missing)
{
	static const int cpus[] = { 1, 3, 5 };

	assert_int_equal(cpulist_missing(cpus, 3, (const int[]){ 0, 1, 2, 3, 5, 6 }, 6), -1);
	assert_int_equal(cpulist_missing(cpus, 3, cpus, 3), -1);
	assert_int_equal(cpulist_missing(cpus, 3, (const int[]){ 1, 2, 4, 5 }, 4), 3);
	assert_int_equal(cpulist_missing(cpus, 3, (const int[]){ 1, 3, 4 }, 3), 5);
	assert_int_equal(cpulist_missing(cpus, 3, NULL, 0), 1);
	assert_int_equal(cpulist_missing(NULL, 0, cpus, 3), -1);
}

/* With any number of CPUs that this process may run on. */

static cpu_set_t at_start;

static int keep(void **state)
{
	return sched_getaffinity(0, sizeof(at_start), &at_start);
}

static int restore(void **state)
{
	return sched_setaffinity(0, sizeof(at_start), &at_start);
}

static void check_set(const cpu_set_t *expected)
{
	cpu_set_t set;

	assert_int_equal(sched_getaffinity(0, sizeof(set), &set), 0);
	assert_true(CPU_EQUAL(&set, expected));
}

/* Fills `cpus` with the allowed ones. */
static size_t list_cpus(int cpus[CPU_SETSIZE])
{
	size_t nr = 0;

	for (int cpu = 0; cpu < CPU_SETSIZE; cpu++) {
		if (CPU_ISSET(cpu, &at_start))
			cpus[nr++] = cpu;
	}
	return nr;
}

TEST_WITH(leaves_cpus, keep, restore)
{
	cpu_set_t rest = at_start;
	int cpus[CPU_SETSIZE];
	size_t nr = list_cpus(cpus);

	if (nr < 2) {
		print_message("needs two CPUs\n");
		skip();
	}
	affinity_leave(cpus + nr - 1, 1);
	CPU_CLR(cpus[nr - 1], &rest);
	check_set(&rest);
	/* Also all other CPUs but one. */
	affinity_leave(cpus + 1, nr - 1);
	CPU_ZERO(&rest);
	CPU_SET(cpus[0], &rest);
	check_set(&rest);
}

TEST_WITH(stays_when_there_is_no_other, keep, restore)
{
	int cpus[CPU_SETSIZE];
	size_t nr = list_cpus(cpus);

	affinity_leave(cpus, nr);
	check_set(&at_start);
}

TEST_WITH(stays_when_there_is_nothing_to_leave, keep, restore)
{
	const int far = CPULIST_MAX_CPUS - 1;

	affinity_leave(NULL, 0);
	check_set(&at_start);
	affinity_leave(&far, 1);
	check_set(&at_start);
}
