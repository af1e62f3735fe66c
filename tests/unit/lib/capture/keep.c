// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
#include "capture/capture.h"

#include <fcntl.h>
#include <stdlib.h>
#include <sys/stat.h>

#include "helpers.h"
#include "util.h"

static void add_sized(struct keep *keep, unsigned int kind, uint64_t latency_ns, const char *name,
		      uint64_t size)
{
	const struct kept kept = {
		.kind = kind, .latency_ns = latency_ns, .size = size, .name = (char *)name
	};

	assert_int_equal(keep_add_capture(keep, &kept), 0);
}

static void add(struct keep *keep, unsigned int kind, uint64_t latency_ns, const char *name)
{
	add_sized(keep, kind, latency_ns, name, 10);
}

static void drops(struct keep *keep, const char *expected)
{
	struct kept dropped;

	assert_int_equal(keep_take_least(keep, &dropped), !!expected);
	if (!expected)
		return;
	assert_string_equal(dropped.name, expected);
	free(dropped.name);
}

TEST(keeps_the_worst_of_each_kind)
{
	struct keep *keep;

	assert_int_equal(keep_worst_new(&keep, 2, UINT64_MAX), 0);
	add(keep, 0, 50, "a");
	assert_int_equal(keep_floor_of_kind(keep, 0), 0);
	add(keep, 0, 30, "b");
	drops(keep, NULL);
	assert_int_equal(keep_floor_of_kind(keep, 0), 31);
	assert_int_equal(keep_floor_of_kind(keep, 1), 0);
	add(keep, 1, 10, "thread");
	drops(keep, NULL);
	add(keep, 0, 40, "c");
	drops(keep, "b");
	drops(keep, NULL);
	assert_int_equal(keep_floor_of_kind(keep, 0), 41);
	/* A capture under way when the floor rose. */
	add(keep, 0, 40, "d");
	drops(keep, "d");
	add(keep, 0, 7, "e");
	drops(keep, "e");
	drops(keep, NULL);
	add(keep, 0, 90, "f");
	drops(keep, "c");
	assert_int_equal(keep_floor_of_kind(keep, 0), 51);
	keep_free(keep);
}

TEST(keeps_to_the_size)
{
	struct keep *keep;

	assert_int_equal(keep_worst_new(&keep, UINT64_MAX, 25), 0);
	add(keep, 0, 5, "a");
	add(keep, 1, 9, "b");
	drops(keep, NULL);
	add(keep, 0, 7, "c");
	drops(keep, "a");
	drops(keep, NULL);
	assert_int_equal(keep_floor_of_kind(keep, 0), 0);
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

	assert_int_equal(keep_worst_new(&keep, UINT64_MAX, 100), 0);
	for (int i = 0; i < 3; i++) {
		kept.latency_ns++;
		assert_int_equal(keep_add_capture(keep, &kept), 0);
		drops(keep, NULL);
	}
	kept.name = (char *)"b";
	kept.latency_ns = 1;
	assert_int_equal(keep_add_capture(keep, &kept), 0);
	drops(keep, "b");
	drops(keep, NULL);
	/* Including shared files it does not fit, even if all others go. */
	kept.latency_ns = 100;
	kept.size = 31;
	assert_int_equal(keep_add_capture(keep, &kept), 0);
	drops(keep, "b");
	drops(keep, NULL);
	keep_free(keep);
}

int __real_renameat(int from_fd, const char *from, int to_fd, const char *to);

/* Another process is faster. */
static bool swap;
static unsigned int nr_renames;

int __wrap_renameat(int from_fd, const char *from, int to_fd, const char *to)
{
	nr_renames++;
	if (swap) {
		swap = false;
		assert_int_equal(__real_renameat(from_fd, from, from_fd, "moved"), 0);
		put_file(from_fd, "capture/others", "");
	}
	return __real_renameat(from_fd, from, to_fd, to);
}

/* The work folder is one of the entries. */
static struct output output_of(void)
{
	return (struct output){ .path = folder->path,
				.fd = folder->fd,
				.work = new_folder(folder->fd, "work") };
}

static void close_work(struct output *output)
{
	closep(&output->work);
}

static struct kept make(void)
{
	struct kept kept = { .name = (char *)"capture" };
	struct stat st;

	put_file(folder->fd, "capture/capture.json", "{}");
	put_file(folder->fd, "capture/perf.data/data", "");
	st = stat_of("capture");
	kept.dev = st.st_dev;
	kept.ino = st.st_ino;
	return kept;
}

/* The name is free at once, also for others. */
TEST_IN_FOLDER(removes_in_two_steps)
{
	_cleanup_(close_work) struct output output = output_of();
	struct kept kept = make();
	char partial[64];

	assert_int_equal(removal_begin(&output, &kept), 0);
	assert_false(exists("capture"));
	snprintf(partial, sizeof(partial), "work/removed-%ju", (uintmax_t)kept.ino);
	assert_true(exists(partial));
	put_file(folder->fd, "capture/others", "");
	removals_finish(&output);
	assert_false(exists(partial));
	assert_true(exists("capture/others"));
}

static void is_stale(const struct output *output, const struct kept *kept)
{
	assert_int_equal(removal_begin(output, kept), -ESTALE);
}

TEST_IN_FOLDER(leaves_what_is_not_ours)
{
	_cleanup_(close_work) struct output output = output_of();
	struct kept kept = make();

	nr_renames = 0;
	assert_int_equal(__real_renameat(folder->fd, "capture", folder->fd, "moved"), 0);
	assert_int_equal(removal_begin(&output, &kept), -ENOENT);
	assert_int_equal(symlinkat("moved", folder->fd, "capture"), 0);
	is_stale(&output, &kept);
	assert_int_equal(unlinkat(folder->fd, "capture", 0), 0);
	put_file(folder->fd, "capture", "");
	is_stale(&output, &kept);
	assert_int_equal(unlinkat(folder->fd, "capture", 0), 0);
	put_file(folder->fd, "capture/others", "");
	is_stale(&output, &kept);
	assert_true(exists("capture/others"));
	assert_true(exists("moved/capture.json"));
	/* It is never renamed. */
	assert_int_equal(nr_renames, 0);
	assert_true(exists("moved/perf.data/data"));
}

TEST_IN_FOLDER(gives_back_what_is_not_ours)
{
	_cleanup_(close_work) struct output output = output_of();
	struct kept kept = make();

	swap = true;
	is_stale(&output, &kept);
	assert_true(exists("capture/others"));
	assert_true(exists("moved/perf.data/data"));
}
