// SPDX-License-Identifier: GPL-2.0-only
#include "code/files.h"

#include <string.h>
#include <sys/stat.h>

#include "build_id.h"
#include "perfdata/helpers.h"

#define ID 0xab, 0xcd, 0xef
#define PLACE ".build-id/ab/cdef"

static const struct build_id id = { 3, { ID } }, other_id = { 3, { 0xab, 0xcd, 0xee } };

/* Files differ in size. */
static void write_elf(const char *name, const struct build_id *its_id, off_t size)
{
	_cleanup_close_ int fd = -1;

	put_elf_of(folder->fd, name, its_id->bytes, its_id->size);
	fd = openat(folder->fd, name, O_WRONLY | O_CLOEXEC);
	assert_int_equal(ftruncate(fd, size), 0);
}

static struct files_places places(void)
{
	static char cache[256];

	snprintf(cache, sizeof(cache), "%s/cache", folder->path);
	setenv("HOME", folder->path, 1);
	return (struct files_places){ cache, folder->path };
}

/* Returns the size of the file found, whose path ends with `end`, or the error. */
static long find(const char *name, const struct build_id *wanted_id, const char *end)
{
	const struct files_places at = places();
	const struct files_wanted wanted = { name, *wanted_id };
	_cleanup_free_ char *path = NULL, *why = NULL;
	_cleanup_close_ int fd = files_open_wanted(&at, &wanted, &path);
	struct stat st;

	if (fd < 0) {
		assert_null(path);
		why = files_explain_error(&at, &wanted, fd);
		assert_non_null(strstr(why, end));
		return fd;
	}
	assert_int_equal(fstat(fd, &st), 0);
	assert_string_equal(path + strlen(path) - strlen(end), end);
	return (long)st.st_size;
}

TEST_IN_FOLDER(looks_in_order)
{
	assert_int_equal(find("/bin/x", &id, "no build id abcdef in"), -ENOENT);
	assert_int_equal(find("/bin/x", &id, "/bin/x is not there"), -ENOENT);
	write_elf("bin/x", &id, 1001);
	assert_int_equal(find("/bin/x", &id, "/bin/x"), 1001);
	write_elf(".debug/" PLACE "/elf", &id, 1002);
	assert_int_equal(find("/bin/x", &id, "/.debug/" PLACE "/elf"), 1002);
	write_elf("cache/" PLACE "/elf", &id, 1003);
	assert_int_equal(find("/bin/x", &id, "/cache/" PLACE "/elf"), 1003);
	/* Without a build ID only the name counts. */
	assert_int_equal(find("/bin/x", &(struct build_id){}, "/bin/x"), 1001);
}

TEST_IN_FOLDER(takes_no_other)
{
	static const struct build_id padded = { 20, { ID } };
	write_elf("bin/x", &id, 1001);
	assert_int_equal(find("/bin/x", &other_id, "/bin/x is another one now"), -ESTALE);
	/* Not even in the place of that build ID. */
	write_elf("cache/.build-id/ab/cdee/elf", &id, 1002);
	assert_int_equal(find("/bin/y", &other_id, "is not there"), -ENOENT);
	assert_int_equal(find("/bin/x", &padded, "/bin/x"), 1001);
	assert_int_equal(find("[heap]", &(struct build_id){}, "[heap]"), -ENOENT);
}

TEST_IN_FOLDER(finds_vdso)
{
	struct vdso own;

	write_elf("cache/" PLACE "/vdso", &id, 1001);
	assert_int_equal(find("[vdso]", &id, "/cache/" PLACE "/vdso"), 1001);
	assert_int_equal(find("[vdso]", &other_id, "no build id abcdee"), -ENOENT);
	assert_true(vdso_find_own(&own) || find("[vdso]", &own.id, "") > 1001);
}

TEST_IN_FOLDER(finds_kept_symbols)
{
	const struct files_places at = { places().buildid_dir, NULL };
	const struct files_wanted wanted = { "/bin/x", id };
	int fd = files_open_cached_debug(&at, &wanted);
	struct stat st;

	assert_int_equal(fd, -ENOENT);
	write_elf("cache/" PLACE "/debug", &id, 1001);
	fd = files_open_cached_debug(&at, &wanted);
	assert_true(fd >= 0);
	assert_int_equal(fstat(fd, &st), 0);
	assert_int_equal(st.st_size, 1001);
	close(fd);
}
