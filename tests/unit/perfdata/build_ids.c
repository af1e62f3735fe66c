// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
#include "helpers.h"
#include "perfdata.h"
#include "util.h"

#include <elf.h>
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>

#define HEADER_SIZE 8
#define MAP_SIZE 72

/* The build ID is `byte` repeated. */
static void put_program(int dirfd, const char *path, uint8_t byte, size_t size)
{
	uint8_t id[32];

	memset(id, byte, size);
	put_elf_of(dirfd, path, id, size);
}

static void cut_file(int dirfd, const char *path, off_t size)
{
	_cleanup_close_ int fd = openat(dirfd, path, O_WRONLY | O_CLOEXEC);

	assert_int_equal(ftruncate(fd, size), 0);
}

static uint64_t inode(int dirfd, const char *path)
{
	struct stat st;

	assert_int_equal(fstatat(dirfd, path, &st, 0), 0);
	return st.st_ino;
}

/* As the kernel writes it. */
static void add_map(struct perfdata_buf *buf, uint16_t misc, uint32_t pid, uint64_t ino,
		    const char *name)
{
	uint64_t words[MAP_SIZE / 8] = { 0, (uint64_t)pid << 32 | pid, 0x400000, 0x1000 };
	struct perf_event_header header = { .type = PERF_RECORD_MMAP2, .misc = misc };
	char padded[4096] = "";
	size_t size = (strlen(name) / 8 + 1) * 8;

	header.size = MAP_SIZE + size;
	memcpy(words, &header, sizeof(header));
	words[6] = ino;
	words[8] = PROT_READ | PROT_EXEC;
	memcpy(padded, name, strlen(name));
	buf->data = realloc(buf->data, buf->len + header.size);
	memcpy(buf->data + buf->len, words, MAP_SIZE);
	memcpy(buf->data + buf->len + MAP_SIZE, padded, size);
	buf->len += header.size;
}

struct session {
	struct perfdata_build_ids *ids;
	struct perfdata_buf maps;
	int files;
};

/* The entries for a file with these maps. */
static struct bytes write_file(struct session *session)
{
	const struct perfdata_records records = { session->maps.data, session->maps.len };
	const struct perfdata_event event = { .name = "event" };
	struct perfdata *pd;
	struct bytes file;
	char name[16];

	snprintf(name, sizeof(name), "%d", session->files++);
	assert_int_equal(perfdata_create(&pd, folder->fd, name, &event, 1), 0);
	assert_int_equal(perfdata_put_build_ids(pd, session->ids, &records, 1), 0);
	assert_int_equal(perfdata_finish(pd, NULL, 0, 0), 0);
	file = load_file(perfdata_dirfd(pd), "data");
	perfdata_free(pd);
	return file;
}

static void check_entry(struct bytes *body, uint8_t id, size_t size, const char *name)
{
	struct bytes entry = take(body, HEADER_SIZE + 28 + (strlen(name) / 64 + 1) * 64);
	size_t len = entry.len;

	EXPECT(&entry, U32(0), U16(1 << 15 | PERF_RECORD_MISC_USER), U16(len), U32(UINT32_MAX));
	for (size_t i = 0; i < 20; i++)
		assert_int_equal(take_u8(&entry), i < size ? id : 0);
	EXPECT(&entry, U32(size), CSTRING(name));
}

/* The file has the build id of this name and no other, or none if id is 0. */
static void check_file(struct session *session, const char *name, int id)
{
	struct bytes file = write_file(session), body = feature(file, 2);

	if (id)
		check_entry(&body, id, 20, name);
	assert_int_equal(body.len, 0);
}

static void begin(struct session *session)
{
	*session = (struct session){};
	assert_int_equal(perfdata_build_ids_new(&session->ids, folder->fd), 0);
}

static void end(struct session *session)
{
	perfdata_build_ids_free(session->ids);
	perfdata_buf_release(&session->maps);
}

/* The mapping's link comes first, then the path in the process's root, then in ours. */
TEST_IN_FOLDER(test_places)
{
	struct session session;

	begin(&session);
	put_program(folder->fd, "lib/a", 3, 20);
	add_map(&session.maps, PERF_RECORD_MISC_USER, 7, inode(folder->fd, "lib/a"), "/lib/a");
	check_file(&session, "/lib/a", 3);
	put_program(folder->fd, "proc/7/root/lib/a", 2, 20);
	check_file(&session, "/lib/a", 3); /* another inode than was mapped */
	session.maps.len = 0;
	add_map(&session.maps, PERF_RECORD_MISC_USER, 7, inode(folder->fd, "proc/7/root/lib/a"),
		"/lib/a");
	check_file(&session, "/lib/a", 2);
	put_program(folder->fd, "proc/7/map_files/400000-401000", 1, 20);
	check_file(&session, "/lib/a", 1);
	end(&session);
}

/* Data, other records, files that are missing, not regular, not ELF or damaged, and names that are
 * no files. */
TEST_IN_FOLDER(test_left_out)
{
	static const char *const names[] = { "/gone",  "/text",	  "/empty", "/none",
					     "/big",   "/folder", "/fifo",  "//anon",
					     "[heap]", "a",	  "/cut" };
	struct session session;

	begin(&session);
	put_file(folder->fd, "text", "#!/bin/sh\n");
	put_file(folder->fd, "empty", "");
	put_program(folder->fd, "none", 1, 0);
	put_program(folder->fd, "big", 1, 24);
	put_program(folder->fd, "a", 1, 20);
	put_program(folder->fd, "cut", 1, 20);
	put_file(folder->fd, "folder/file", "");
	cut_file(folder->fd, "cut", sizeof(Elf64_Ehdr) + 80);
	assert_int_equal(mkfifoat(folder->fd, "fifo", 0600), 0);
	for (size_t i = 0; i < ARRAY_SIZE(names); i++)
		add_map(&session.maps, PERF_RECORD_MISC_USER, 7, 0, names[i]);
	add_map(&session.maps, PERF_RECORD_MISC_USER | PERF_RECORD_MISC_MMAP_DATA, 7, 0, "/a");
	check_file(&session, NULL, 0);
	/* The same name, for code */
	add_map(&session.maps, PERF_RECORD_MISC_USER, 7, inode(folder->fd, "a") + 1, "/a");
	check_file(&session, NULL, 0);
	end(&session);
}

/* A file is read once a session, again if it changes; each name is in the table once. */
TEST_IN_FOLDER(test_once)
{
	const struct timespec times[] = { { 1, 5 }, { 1, 5 } }, later[] = { { 1, 6 }, { 1, 6 } };
	struct session session;

	begin(&session);
	put_program(folder->fd, "a", 1, 20);
	assert_int_equal(utimensat(folder->fd, "a", times, 0), 0);
	add_map(&session.maps, PERF_RECORD_MISC_USER, 7, 0, "/a");
	add_map(&session.maps, PERF_RECORD_MISC_USER, 8, 0, "/a");
	check_file(&session, "/a", 1);
	put_program(folder->fd, "a", 2, 20);
	assert_int_equal(utimensat(folder->fd, "a", times, 0), 0);
	check_file(&session, "/a", 1);
	assert_int_equal(utimensat(folder->fd, "a", later, 0), 0);
	check_file(&session, "/a", 2);
	assert_int_equal(unlinkat(folder->fd, "a", 0), 0);
	check_file(&session, NULL, 0);
	end(&session);
}

/* The first file of a name is missing, replaced or has no build ID. */
TEST_IN_FOLDER(test_first_with_an_id)
{
	struct session session;

	begin(&session);
	put_file(folder->fd, "proc/6/root/a", "not ELF");
	put_program(folder->fd, "a", 1, 20);
	add_map(&session.maps, PERF_RECORD_MISC_USER, 5, inode(folder->fd, "a") + 1, "/a");
	add_map(&session.maps, PERF_RECORD_MISC_USER, 6, 0, "/a");
	add_map(&session.maps, PERF_RECORD_MISC_USER, 7, 0, "/a");
	check_file(&session, "/a", 1);
	end(&session);
}

/* Of two files with one name, the one that we have under that name, else the first. */
TEST_IN_FOLDER(test_two_namespaces)
{
	struct session session;

	begin(&session);
	put_program(folder->fd, "a", 1, 20);
	put_program(folder->fd, "proc/6/root/a", 2, 20);
	put_program(folder->fd, "proc/7/root/a", 3, 20);
	add_map(&session.maps, PERF_RECORD_MISC_USER, 6, inode(folder->fd, "proc/6/root/a"), "/a");
	add_map(&session.maps, PERF_RECORD_MISC_USER, 7, inode(folder->fd, "proc/7/root/a"), "/a");
	check_file(&session, "/a", 2);
	add_map(&session.maps, PERF_RECORD_MISC_USER, 8, inode(folder->fd, "a"), "/a");
	add_map(&session.maps, PERF_RECORD_MISC_USER, 7, inode(folder->fd, "proc/7/root/a"), "/a");
	check_file(&session, "/a", 1);
	end(&session);
}

/* Ids shorter than 20 bytes; names that fill their field; the end of the last record is missing. */
TEST_IN_FOLDER(test_sizes)
{
	static const char name[] =
		"/0123456789012345678901234567890123456789012345678901234567890123";
	struct session session;
	struct bytes file, body;

	begin(&session);
	put_program(folder->fd, "a", 1, 8);
	put_program(folder->fd, "b", 4, 20);
	put_program(folder->fd, name + 1, 2, 16);
	add_map(&session.maps, PERF_RECORD_MISC_USER, 7, 0, "/a");
	add_map(&session.maps, PERF_RECORD_MISC_USER, 7, 0, name);
	add_map(&session.maps, PERF_RECORD_MISC_USER, 7, 0, "/b");
	session.maps.len--;
	file = write_file(&session);
	body = feature(file, 2);
	check_entry(&body, 2, 16, name);
	check_entry(&body, 1, 8, "/a");
	assert_int_equal(body.len, 0);
	end(&session);
}

/* The kernel and its modules come first; the vDSO is treated like a file. */
TEST_IN_FOLDER(test_all_kinds)
{
	static const char note[] = "\4\0\0\0\24\0\0\0\3\0\0\0GNU\0"
				   "kkkkkkkkkkkkkkkkkkkk";
	static const char *const names[] = { "[kernel.kallsyms]", "[mod]", "/a", "[vdso]" };
	const struct perfdata_event event = { .name = "event" };
	struct perfdata_features *features;
	struct perfdata_records records;
	struct session session;
	struct perfdata *pd;
	struct bytes file, body;

	SKIP_IN_USER_MODE("no vDSO");
	begin(&session);
	put_bytes(folder->fd, "sys/kernel/notes", note, sizeof(note) - 1);
	put_bytes(folder->fd, "sys/module/mod/notes/.note.gnu.build-id", note, sizeof(note) - 1);
	put_file(folder->fd, "sys/module/builtin/uevent", "");
	put_program(folder->fd, "a", 1, 20);
	add_map(&session.maps, PERF_RECORD_MISC_USER, 7, 0, "/a");
	add_map(&session.maps, PERF_RECORD_MISC_USER, 7, 0, "[vdso]");
	records = (struct perfdata_records){ session.maps.data, session.maps.len };
	assert_int_equal(perfdata_features_new(&features, folder->fd, "1", NULL, 0), 0);
	assert_int_equal(perfdata_create(&pd, folder->fd, "f", &event, 1), 0);
	assert_int_equal(perfdata_put_build_ids(pd, session.ids, &records, 1), 0);
	assert_int_equal(perfdata_finish(pd, features, 0, 0), 0);
	file = load_file(perfdata_dirfd(pd), "data");
	body = feature(file, 2);
	for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
		struct bytes entry = take(&body, 100);

		take(&entry, 4);
		assert_int_equal(take_u16(&entry), 1 << 15 | (i < 2 ? PERF_RECORD_MISC_KERNEL
								    : PERF_RECORD_MISC_USER));
		take(&entry, 30);
		assert_string_equal(take_cstring(&entry), names[i]);
	}
	assert_int_equal(body.len, 0);
	perfdata_free(pd);
	perfdata_features_free(features);
	end(&session);
}
