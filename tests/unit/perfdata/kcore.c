// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
#include "helpers.h"
#include "perfdata.h"
#include "util.h"

#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>

#define KALLSYMS "ffffffff81000000 T _text\n"

static int open_folder(int dirfd, const char *name)
{
	int fd;

	assert_int_equal(mkdirat(dirfd, name, 0700), 0);
	fd = openat(dirfd, name, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	assert_true(fd >= 0);
	return fd;
}

static struct stat check_file(int dirfd, const char *path, const char *expected)
{
	struct bytes content = load_file(dirfd, path);
	struct stat st;

	assert_int_equal(content.len, strlen(expected));
	assert_memory_equal(content.at, expected, content.len);
	free((void *)content.at);
	assert_int_equal(fstatat(dirfd, path, &st, 0), 0);
	assert_int_equal(st.st_mode, S_IFREG | 0400);
	return st;
}

static void test_copy(void **state)
{
	const struct folder *folder = *state;

	put_file(folder->fd, "proc/kallsyms", KALLSYMS);
	put_file(folder->fd, "proc/modules", "mod 16384 0 - Live 0xffffffffc0001000\n");
	assert_int_equal(perfdata_kcore_dir(folder->fd, folder->fd), 0);
	check_file(folder->fd, "kcore_dir/kallsyms", KALLSYMS);
	check_file(folder->fd, "kcore_dir/modules", "mod 16384 0 - Live 0xffffffffc0001000\n");
	assert_int_equal(perfdata_kcore_dir(folder->fd, folder->fd), -EEXIST);
}

static void test_no_modules(void **state)
{
	const struct folder *folder = *state;

	put_file(folder->fd, "proc/kallsyms", KALLSYMS);
	assert_int_equal(perfdata_kcore_dir(folder->fd, folder->fd), 0);
	check_file(folder->fd, "kcore_dir/modules", "");
}

static void test_link(void **state)
{
	const struct folder *folder = *state;
	_cleanup_close_ int from = open_folder(folder->fd, "from");
	_cleanup_close_ int to = open_folder(folder->fd, "to");
	struct stat st;

	assert_int_equal(perfdata_kcore_dir_link(from, to), -ENOENT);
	put_file(folder->fd, "proc/kallsyms", KALLSYMS);
	assert_int_equal(perfdata_kcore_dir(from, folder->fd), 0);
	assert_int_equal(perfdata_kcore_dir_link(from, to), 0);
	st = check_file(to, "kcore_dir/kallsyms", KALLSYMS);
	assert_int_equal(st.st_ino, check_file(from, "kcore_dir/kallsyms", KALLSYMS).st_ino);
	check_file(to, "kcore_dir/modules", "");
	assert_int_equal(perfdata_kcore_dir_link(from, to), -EEXIST);
}

static void test_link_across_filesystems(void **state)
{
	const struct folder *folder = *state;
	char elsewhere[] = "/dev/shm/perfdata-XXXXXX";
	_cleanup_close_ int from = open_folder(folder->fd, "from");
	_cleanup_close_ int to = -1;
	struct stat here, there;

	if (fstat(from, &here) < 0 || stat("/dev/shm", &there) < 0 || here.st_dev == there.st_dev ||
	    !mkdtemp(elsewhere))
		skip();
	to = open(elsewhere, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	put_file(folder->fd, "proc/kallsyms", KALLSYMS);
	assert_int_equal(perfdata_kcore_dir(from, folder->fd), 0);
	assert_int_equal(perfdata_kcore_dir_link(from, to), 0);
	check_file(to, "kcore_dir/kallsyms", KALLSYMS);
	check_file(to, "kcore_dir/modules", "");
	assert_int_equal(unlinkat(to, "kcore_dir/kallsyms", 0), 0);
	assert_int_equal(unlinkat(to, "kcore_dir/modules", 0), 0);
	assert_int_equal(unlinkat(to, "kcore_dir", AT_REMOVEDIR), 0);
	assert_int_equal(rmdir(elsewhere), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_copy, make_folder, remove_folder),
		cmocka_unit_test_setup_teardown(test_no_modules, make_folder, remove_folder),
		cmocka_unit_test_setup_teardown(test_link, make_folder, remove_folder),
		cmocka_unit_test_setup_teardown(test_link_across_filesystems, make_folder,
						remove_folder),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
