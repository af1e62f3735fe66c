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

TEST_IN_FOLDER(finds_symbols)
{
	const struct files_places at = { places().buildid_dir, NULL };
	const struct files_wanted wanted = { "/bin/x", id };
	_cleanup_close_ int own = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
	int fd = files_open_debug(&at, &wanted, own);
	struct stat st;

	assert_int_equal(fd, -ENOENT);
	write_elf("cache/" PLACE "/debug", &id, 1001);
	fd = files_open_debug(&at, &wanted, own);
	assert_true(fd >= 0);
	assert_int_equal(fstat(fd, &st), 0);
	assert_int_equal(st.st_size, 1001);
	close(fd);
}

/* Adds a section .gnu_debuglink. */
static void add_debuglink(const char *name, const char *link, size_t size)
{
	static const char names[] = "\0.gnu_debuglink";
	const Elf64_Shdr sections[] = {
		{ 0 },
		{ .sh_name = 1, .sh_type = SHT_PROGBITS, .sh_offset = 5000, .sh_size = size },
		{ .sh_type = SHT_STRTAB, .sh_offset = 4500, .sh_size = sizeof(names) },
	};
	_cleanup_close_ int fd = openat(folder->fd, name, O_RDWR | O_CLOEXEC);
	Elf64_Ehdr header;

	assert_int_equal(pread(fd, &header, sizeof(header), 0), sizeof(header));
	header.e_shoff = 4096;
	header.e_shentsize = sizeof(*sections);
	header.e_shnum = ARRAY_SIZE(sections);
	header.e_shstrndx = 2;
	assert_int_equal(pwrite(fd, &header, sizeof(header), 0), sizeof(header));
	assert_int_equal(pwrite(fd, sections, sizeof(sections), 4096), sizeof(sections));
	assert_int_equal(pwrite(fd, names, sizeof(names), 4500), sizeof(names));
	assert_int_equal(pwrite(fd, link, size, 5000), size);
}

/* A name that is a path, too long, or not terminated is not followed. */
TEST_IN_FOLDER(follows_debuglink)
{
	char too_long[300];
	const struct {
		const char *link;
		size_t size;
		bool found;
	} rows[] = {
		{ "x.debug", 8, true },
		{ "x.debug", 7, false },
		{ "../bin/x.debug", 15, false },
		{ "y.debug", 8, false },
		{ "", 1, false },
		{ too_long, sizeof(too_long), false },
	};
	const struct files_places at = { places().buildid_dir, NULL };
	char path[256];
	const struct files_wanted wanted = { path, id };

	memset(too_long, 'x', sizeof(too_long));
	too_long[sizeof(too_long) - 1] = '\0';
	snprintf(path, sizeof(path), "%s/bin/x", folder->path);
	write_elf("bin/x.debug", &id, 1001);
	write_elf("bin/y.debug", &other_id, 1001);
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		_cleanup_close_ int own = -1, fd = -1;

		write_elf("bin/x", &id, 6000);
		add_debuglink("bin/x", rows[i].link, rows[i].size);
		own = open(path, O_RDONLY | O_CLOEXEC);
		fd = files_open_debug(&at, &wanted, own);
		assert_int_equal(fd >= 0 ? 0 : fd, rows[i].found ? 0 : -ENOENT);
	}
}
