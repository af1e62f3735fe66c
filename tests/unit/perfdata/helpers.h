/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/* A folder for each test, and a reader of perf.data that shares no code with the writer. */
#ifndef TEST_PERFDATA_HELPERS_H
#define TEST_PERFDATA_HELPERS_H

#include <elf.h>
#include <stdbool.h>
#include <sys/resource.h>
#include <sys/stat.h>

#include "test.h"

/* The test's own. */
extern struct folder {
	char *path;
	int fd;
} * folder;

/* Setup and teardown of cmocka. *state is the folder too. */
int make_folder(void **state);
int remove_folder(void **state);

/* The same as the working folder, for all tests of a file. */
int enter_folder(void **state);
int leave_folder(void **state);

#define TEST_IN_FOLDER(test) TEST_WITH(test, make_folder, remove_folder)

/* Writes a file and creates its folders. */
void put_file(int dirfd, const char *path, const char *content);
void put_bytes(int dirfd, const char *path, const void *bytes, size_t len);

/* The same for an ELF file with one segment of that content, at its p_offset, or after the headers
 * if that is 0. */
void put_elf(int dirfd, const char *path, Elf64_Phdr segment, const void *content, size_t len);

/* The same with only a build ID of at most 32 bytes. */
void put_elf_of(int dirfd, const char *path, const void *id, size_t id_size);

/* A shell script in that folder, executable or not. */
void put_script(const char *path, const char *body, mode_t mode);

/* In the test's folder; a dangling link counts too. */
bool exists(const char *path);

/* It must exist. */
struct stat stat_of(const char *path);

/* Makes a folder in another. Returns its descriptor. */
int new_folder(int dirfd, const char *name);

/* Files may grow to `limit` bytes; beyond that writes fail with EFBIG, as with ENOSPC on a full
 * disk. Returns the previous limit. */
rlim_t limit_file_size(rlim_t limit);

/* Bytes not read yet. Reading past the end fails the test. */
struct bytes {
	const uint8_t *at;
	size_t len;
};

/* The whole file, until the test's folder is removed. */
struct bytes load_file(int dirfd, const char *path);

/* The same as a string, of a file in that folder. */
const char *load_text(const char *path);

struct bytes slice(struct bytes bytes, uint64_t offset, uint64_t len);
struct bytes take(struct bytes *bytes, size_t len);
uint8_t take_u8(struct bytes *bytes);
uint16_t take_u16(struct bytes *bytes);
uint32_t take_u32(struct bytes *bytes);
uint64_t take_u64(struct bytes *bytes);
const char *take_string(struct bytes *bytes);  /* as features have it */
const char *take_cstring(struct bytes *bytes); /* up to its NUL */

/* Checks what comes next: a number, a string as from take_string() or take_cstring(), zeros to the
 * end, or the end. */
struct expected {
	size_t bytes;
	uint64_t number;
	const char *string, *cstring;
	bool zeros, end;
};

#define U8(value) ((struct expected){ .bytes = 1, .number = (value) })
#define U16(value) ((struct expected){ .bytes = 2, .number = (value) })
#define U32(value) ((struct expected){ .bytes = 4, .number = (uint32_t)(value) })
#define U64(value) ((struct expected){ .bytes = 8, .number = (value) })
#define STRING(text) ((struct expected){ .string = (text) })
#define CSTRING(text) ((struct expected){ .cstring = (text) })
#define ZEROS ((struct expected){ .zeros = true })
#define END ((struct expected){ .end = true })
#define EXPECT(bytes, ...)                                                                         \
	do {                                                                                       \
		const struct expected _all[] = { __VA_ARGS__ };                                    \
                                                                                                   \
		expect(bytes, _all, sizeof(_all) / sizeof(*_all), __FILE__, __LINE__);             \
	} while (0)

void expect(struct bytes *bytes, const struct expected *all, size_t nr, const char *file, int line);

/* The body of the next record, which must be of this kind. */
struct bytes take_record(struct bytes *records, uint32_t type, uint16_t misc);

/* The same for a buffer with no other record. */
struct bytes only_record(const void *data, size_t len, uint32_t type, uint16_t misc);

/* The body of a feature; `at` is NULL if the file lacks it. */
struct bytes feature(struct bytes file, int bit);

#endif
