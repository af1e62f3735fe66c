// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
#include "capture/removal.h"

#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include "helpers.h"
#include "util.h"

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
	struct removal *removal;
	char partial[64];

	assert_int_equal(removal_begin(&removal, &output, &kept), 0);
	assert_false(exists("capture"));
	snprintf(partial, sizeof(partial), "work/%s", removal->partial);
	assert_true(exists(partial));
	put_file(folder->fd, "capture/others", "");
	removal_end(removal);
	assert_false(exists(partial));
	assert_true(exists("capture/others"));
}

static void is_stale(const struct output *output, const struct kept *kept)
{
	struct removal *removal;

	assert_int_equal(removal_begin(&removal, output, kept), -ESTALE);
}

TEST_IN_FOLDER(leaves_what_is_not_ours)
{
	_cleanup_(close_work) struct output output = output_of();
	struct kept kept = make();
	struct removal *removal;

	nr_renames = 0;
	assert_int_equal(__real_renameat(folder->fd, "capture", folder->fd, "moved"), 0);
	assert_int_equal(removal_begin(&removal, &output, &kept), -ENOENT);
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
