// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
#include "capture/keep.h"

#include <stdlib.h>

#include "test.h"
#include "util.h"

static void add_sized(struct keep *keep, unsigned int kind, uint64_t latency_ns, const char *name,
		      uint64_t size)
{
	const struct kept kept = {
		.kind = kind, .latency_ns = latency_ns, .size = size, .name = (char *)name
	};

	assert_int_equal(keep_add(keep, &kept), 0);
}

static void add(struct keep *keep, unsigned int kind, uint64_t latency_ns, const char *name)
{
	add_sized(keep, kind, latency_ns, name, 10);
}

static void drops(struct keep *keep, const char *expected)
{
	struct kept dropped;

	assert_int_equal(keep_drop(keep, &dropped), !!expected);
	if (!expected)
		return;
	assert_string_equal(dropped.name, expected);
	free(dropped.name);
}

TEST(keeps_the_worst_of_each_kind)
{
	struct keep *keep;

	assert_int_equal(keep_new(&keep, 2, UINT64_MAX), 0);
	add(keep, 0, 50, "a");
	assert_int_equal(keep_floor(keep, 0), 0);
	add(keep, 0, 30, "b");
	drops(keep, NULL);
	assert_int_equal(keep_floor(keep, 0), 31);
	assert_int_equal(keep_floor(keep, 1), 0);
	add(keep, 1, 10, "thread");
	drops(keep, NULL);
	add(keep, 0, 40, "c");
	drops(keep, "b");
	drops(keep, NULL);
	assert_int_equal(keep_floor(keep, 0), 41);
	/* A capture under way when the floor rose. */
	add(keep, 0, 40, "d");
	drops(keep, "d");
	add(keep, 0, 7, "e");
	drops(keep, "e");
	drops(keep, NULL);
	add(keep, 0, 90, "f");
	drops(keep, "c");
	assert_int_equal(keep_floor(keep, 0), 51);
	keep_free(keep);
}

TEST(keeps_to_the_size)
{
	struct keep *keep;

	assert_int_equal(keep_new(&keep, UINT64_MAX, 25), 0);
	add(keep, 0, 5, "a");
	add(keep, 1, 9, "b");
	drops(keep, NULL);
	add(keep, 0, 7, "c");
	drops(keep, "a");
	drops(keep, NULL);
	assert_int_equal(keep_floor(keep, 0), 0);
	/* A capture that does not fit removes no other. */
	add_sized(keep, 0, 99, "huge", 26);
	drops(keep, "huge");
	drops(keep, NULL);
	keep_free(keep);
	keep_free(NULL);
}

/* Like the kernel's symbols, hard-linked into all captures of a session. */
TEST(counts_what_is_shared_once)
{
	struct kept kept = { .latency_ns = 1, .size = 10, .shared = 70, .name = (char *)"a" };
	struct keep *keep;

	assert_int_equal(keep_new(&keep, UINT64_MAX, 100), 0);
	for (int i = 0; i < 3; i++) {
		kept.latency_ns++;
		assert_int_equal(keep_add(keep, &kept), 0);
		drops(keep, NULL);
	}
	kept.name = (char *)"b";
	kept.latency_ns = 1;
	assert_int_equal(keep_add(keep, &kept), 0);
	drops(keep, "b");
	drops(keep, NULL);
	/* Including shared files it does not fit, even if all others go. */
	kept.latency_ns = 100;
	kept.size = 31;
	assert_int_equal(keep_add(keep, &kept), 0);
	drops(keep, "b");
	drops(keep, NULL);
	keep_free(keep);
}
