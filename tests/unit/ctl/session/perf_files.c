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

static char *archive(struct perf_files *files, const char *output, const char *perf, int wanted)
{
	struct console con = { 0 };

	return WRITTEN(file, con.out = con.err = file;
		       assert_int_equal(perf_files_archive(files, output, perf, &con), wanted));
}

TEST(archives)
{
	_cleanup_(perf_files_release) struct perf_files found = { 0 };
	_cleanup_free_ char *text = NULL, *beside = NULL;

	put_script("fake", "[ \"$1\" = archive ] && cat \"$2\" > \"$2.tar.bz2\"", 0755);
	put_file(folder->fd, "b.data", "precious");
	assert_int_equal(perf_files_find(&found, "b.data"), 0);
	text = archive(&found, "out dir", "./fake", 0);
	assert_string_equal(text, "");
	assert_int_equal(access("b.data", F_OK), -1);
	assert_memory_equal(found.files[0].path, "out dir/perf-", 13);
	assert_int_equal(access(found.files[0].path, F_OK), 0);
	assert_true(asprintf(&beside, "%s.tar.bz2", found.files[0].path) > 0);
	assert_int_equal(access(beside, F_OK), 0);
}

/* A later failure does not lose perf's data. */
TEST(keeps_without_archive)
{
	_cleanup_(perf_files_release) struct perf_files found = { 0 };
	_cleanup_free_ char *text = NULL, *none = NULL;

	put_script("false", "exit 1", 0755);
	put_file(folder->fd, "c.data", "precious");
	assert_int_equal(perf_files_find(&found, "c.data"), 0);
	text = archive(&found, "out2", "./false", 0);
	assert_non_null(strstr(text, "'./false archive' failed for out2/perf-"));
	assert_int_equal(access(found.files[0].path, F_OK), 0);

	put_file(folder->fd, "d", "");
	none = archive(&found, "d/none", "./false", -ENOTDIR);
	assert_non_null(strstr(none, "--archive: 'd/none/perf-"));
	assert_int_equal(access(found.files[0].path, F_OK), 0);
}

TEST(leaves_what_cannot_be_moved)
{
	_cleanup_(perf_files_release) struct perf_files found = { 0 };
	_cleanup_free_ char *text = NULL;

	put_file(folder->fd, "e.data", "precious");
	assert_int_equal(perf_files_find(&found, "e.data"), 0);
	unlink("e.data");
	text = archive(&found, "out3", "perf", -ENOENT);
	assert_non_null(strstr(text, "--archive: cannot move 'e.data': "));
	assert_string_equal(found.files[0].path, "e.data");
	assert_int_equal(rmdir("out3"), 0);
}

int main(void)
{
	return run_all(enter_folder, leave_folder);
}
