// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
#include "io.h"

#include <fcntl.h>
#include <stdbool.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>

#include "helpers.h"
#include "util.h"

int __real_unlinkat(int dirfd, const char *name, int flags);

static const char *stuck; /* an entry that cannot be removed */

int __wrap_unlinkat(int dirfd, const char *name, int flags)
{
	if (!stuck || strcmp(name, stuck))
		return __real_unlinkat(dirfd, name, flags);
	errno = EBUSY;
	return -1;
}

TEST_IN_FOLDER(removes_folders)
{
	put_file(folder->fd, "gone/a", "");
	put_file(folder->fd, "gone/.hidden", "");
	put_file(folder->fd, "gone/in/deep/er/file", "");
	put_file(folder->fd, "gone/in/other", "");
	assert_int_equal(mkdirat(folder->fd, "gone/empty", 0700), 0);
	put_file(folder->fd, "kept/in/file", "");
	assert_int_equal(tree_remove(folder->fd, "gone"), 0);
	assert_false(exists("gone"));
	assert_true(exists("kept/in/file"));
}

TEST_IN_FOLDER(removes_files)
{
	put_file(folder->fd, "gone", "");
	put_file(folder->fd, "gone.too", "");
	assert_int_equal(tree_remove(folder->fd, "gone"), 0);
	assert_false(exists("gone"));
	assert_true(exists("gone.too"));
	assert_int_equal(tree_remove(folder->fd, "gone"), -ENOENT);
	assert_int_equal(tree_remove(folder->fd, "no/such"), -ENOENT);
}

TEST_IN_FOLDER(removes_many)
{
	char path[32];

	for (int i = 0; i < 1500; i++) {
		snprintf(path, sizeof(path), "gone/%d/%d", i % 3, i);
		put_file(folder->fd, path, "");
	}
	assert_int_equal(tree_remove(folder->fd, "gone"), 0);
	assert_false(exists("gone"));
}

/* As the owner of a capture can make it: the descriptors of a session are limited. */
TEST_IN_FOLDER(does_not_remove_any_depth)
{
	char path[512] = "gone/deep";

	put_file(folder->fd, "gone/file", "");
	for (int i = 0; i < 100; i++)
		strcat(path, "/in");
	put_file(folder->fd, path, "");
	assert_int_equal(tree_remove(folder->fd, "gone"), -ENOTEMPTY);
	assert_true(exists(path));
	assert_false(exists("gone/file"));
}

TEST_IN_FOLDER(does_not_follow_links)
{
	put_file(folder->fd, "kept/file", "");
	put_file(folder->fd, "gone/file", "");
	assert_int_equal(symlinkat("../kept", folder->fd, "gone/to_folder"), 0);
	assert_int_equal(symlinkat("../kept/file", folder->fd, "gone/to_file"), 0);
	assert_int_equal(symlinkat("nowhere", folder->fd, "gone/to_nothing"), 0);
	assert_int_equal(symlinkat("kept", folder->fd, "link"), 0);
	assert_int_equal(tree_remove(folder->fd, "gone"), 0);
	assert_int_equal(tree_remove(folder->fd, "link"), 0);
	assert_false(exists("gone"));
	assert_false(exists("link"));
	assert_true(exists("kept/file"));
}

TEST_IN_FOLDER(removes_entries_by_prefix)
{
	put_file(folder->fd, ".tmp-a", "");
	put_file(folder->fd, ".tmp-b/in/file", "");
	put_file(folder->fd, ".tmp-", "");
	put_file(folder->fd, ".tmp", "");
	put_file(folder->fd, "a.tmp-", "");
	put_file(folder->fd, "kept/.tmp-c", "");
	assert_int_equal(tree_remove_entries(folder->fd, ".tmp-"), 0);
	assert_false(exists(".tmp-a"));
	assert_false(exists(".tmp-b"));
	assert_false(exists(".tmp-"));
	assert_true(exists(".tmp"));
	assert_true(exists("a.tmp-"));
	assert_true(exists("kept/.tmp-c"));
	assert_int_equal(tree_remove_entries(folder->fd, "none of these"), 0);
}

TEST_IN_FOLDER(removes_all_entries)
{
	put_file(folder->fd, "in/.a", "");
	put_file(folder->fd, "in/b/c", "");
	put_file(folder->fd, "out", "");
	{
		_cleanup_close_ int fd =
			openat(folder->fd, "in", O_RDONLY | O_DIRECTORY | O_CLOEXEC);

		assert_int_equal(tree_remove_entries(fd, ""), 0);
		/* The descriptor can still be read from its begin. */
		put_file(fd, "new", "");
		assert_int_equal(tree_remove_entries(fd, ""), 0);
	}
	assert_true(exists("in"));
	assert_int_equal(unlinkat(folder->fd, "in", AT_REMOVEDIR), 0);
	assert_true(exists("out"));
}

/* An entry that cannot be removed stays, with its parent folders; all others go. */
TEST_IN_FOLDER(goes_on_after_a_failure)
{
	int removed, entries;

	put_file(folder->fd, "gone/a/1", "");
	put_file(folder->fd, "gone/a/stuck", "");
	put_file(folder->fd, "gone/a/z", "");
	put_file(folder->fd, "gone/b/2", "");
	put_file(folder->fd, "gone/3", "");
	stuck = "stuck";
	removed = tree_remove(folder->fd, "gone");
	entries = tree_remove_entries(folder->fd, "go");
	stuck = NULL;
	/* The error is that of the entry, not the parent's ENOTEMPTY. */
	assert_int_equal(removed, -EBUSY);
	assert_int_equal(entries, -EBUSY);
	assert_true(exists("gone/a/stuck"));
	assert_false(exists("gone/a/1"));
	assert_false(exists("gone/a/z"));
	assert_false(exists("gone/b"));
	assert_false(exists("gone/3"));
}

static int make_marked(const char *name)
{
	int fd;

	assert_int_equal(mkdirat(folder->fd, name, 0700), 0);
	fd = openat(folder->fd, name, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	assert_int_equal(tree_mark_own(fd), 0);
	assert_true(tree_is_marked(fd));
	put_file(fd, "in/file", "");
	return fd;
}

/* By name, any folder could be one of ours. */
TEST_IN_FOLDER(sweeps_marked_folders)
{
	int left = make_marked(".tmp-left"), locked = make_marked(".tmp-locked");
	int open_to_all = make_marked(".tmp-open");
	_cleanup_close_ int marker = openat(left, TREE_MARKER, O_RDONLY | O_CLOEXEC);
	char text[128];
	ssize_t size = read(marker, text, sizeof(text) - 1);

	assert_true(size > 0);
	text[size] = '\0';
	put_file(folder->fd, ".tmp-copy/" TREE_MARKER, text);
	assert_int_equal(fchmodat(folder->fd, ".tmp-copy", 0700, 0), 0);
	put_file(folder->fd, ".tmp-renamed/precious", "");
	put_file(folder->fd, ".tmp-file", "");
	assert_int_equal(symlinkat(".tmp-left", folder->fd, ".tmp-link"), 0);
	assert_int_equal(fchmod(open_to_all, 0755), 0);
	assert_int_equal(flock(locked, LOCK_EX), 0);
	closep(&left);
	closep(&open_to_all);
	tree_remove_leftovers(folder->fd, ".tmp-", true);
	assert_false(exists(".tmp-left"));
	assert_true(exists(".tmp-locked/in/file"));
	assert_true(exists(".tmp-open/in/file"));
	assert_true(exists(".tmp-copy"));
	assert_true(exists(".tmp-renamed/precious"));
	assert_true(exists(".tmp-file"));
	closep(&locked);
	tree_remove_leftovers(folder->fd, ".tmp-", true);
	assert_false(exists(".tmp-locked"));
}

TEST_IN_FOLDER(counts_what_is_linked)
{
	struct tree_size size;

	put_file(folder->fd, "a/own", "12345");
	put_file(folder->fd, "a/in/shared", "123456");
	put_file(folder->fd, "b/own", "1");
	assert_int_equal(linkat(folder->fd, "a/in/shared", folder->fd, "b/shared", 0), 0);
	assert_int_equal(symlinkat("../a", folder->fd, "b/link"), 0);
	size = tree_size(folder->fd, "b");
	assert_int_equal(size.all, 7);
	assert_int_equal(size.own, 1);
	assert_int_equal(size.share, 4);
	size = tree_size(folder->fd, "a");
	assert_int_equal(size.all, 11);
	assert_int_equal(size.own, 5);
	assert_int_equal(size.share, 8);
	assert_int_equal(tree_size(folder->fd, "none").all, 0);
}

TEST(refuses_a_bad_descriptor)
{
	assert_int_equal(tree_remove(-1, "relative"), -EBADF);
	assert_int_equal(tree_remove_entries(-1, ""), -EBADF);
}
