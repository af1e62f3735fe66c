// SPDX-License-Identifier: GPL-2.0-only
#include "session/perf_files.h"

#include <string.h>
#include <sys/stat.h>

#include "helpers.h"

#define DUMP "2026112101332074"

TEST(finds_new_ones)
{
	_cleanup_(perf_files_release) struct perf_files before = { 0 }, after = { 0 };

	put_file(folder->fd, "a/x.data", "old");
	put_file(folder->fd, "a/x.data.0000000000000000", "old");
	assert_int_equal(perf_files_find(&before, "a/x.data"), 0);
	assert_int_equal(before.nr, 2);
	assert_int_equal(rename("a/x.data", "a/x.data.old"), 0);
	assert_int_equal(mkdir("a/x.data", 0777), 0);
	put_file(folder->fd, "a/x.data." DUMP, "");
	put_file(folder->fd, "a/x.data.2026112101332073", "");
	put_file(folder->fd, "a/x.data.2026", "");
	put_file(folder->fd, "a/x.data." DUMP "0", "");
	put_file(folder->fd, "a/y.data." DUMP, "");
	assert_int_equal(perf_files_find(&after, "a/x.data"), 0);
	perf_files_subtract(&after, &before);
	assert_int_equal(after.nr, 3);
	assert_string_equal(after.files[0].path, "a/x.data");
	assert_string_equal(after.files[1].path, "a/x.data.2026112101332073");
	assert_string_equal(after.files[2].path, "a/x.data." DUMP);
}

TEST(finds_here)
{
	_cleanup_(perf_files_release) struct perf_files found = { 0 }, none = { 0 };

	put_file(folder->fd, "z.data", "");
	assert_int_equal(perf_files_find(&found, "z.data"), 0);
	assert_int_equal(found.nr, 1);
	assert_string_equal(found.files[0].path, "z.data");
	assert_int_equal(perf_files_find(&none, "nowhere/z.data"), 0);
	assert_int_equal(none.nr, 0);
}

int main(void)
{
	return run_all(enter_folder, leave_folder);
}
