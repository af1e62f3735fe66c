/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/* A folder for each test, and a reader of perf.data that shares nothing with the writer. */
#ifndef TEST_PERFDATA_HELPERS_H
#define TEST_PERFDATA_HELPERS_H

#include <sys/resource.h>

#include "test.h"

/* The test's own. */
extern struct folder {
	char *path;
	int fd;
} * folder;

/* Setup and teardown of cmocka. *state is the folder too. */
int make_folder(void **state);
int remove_folder(void **state);

#define TEST_IN_FOLDER(test) TEST_WITH(test, make_folder, remove_folder)

/* Write a file and make the folders it is in. */
void put_file(int dirfd, const char *path, const char *content);

/* Files may grow to `limit` bytes; what goes past it fails with EFBIG, as ENOSPC does on a full
 * disk. Returns the limit before. */
rlim_t limit_file_size(rlim_t limit);

/* Bytes not read yet. Reading past the end fails the test. */
struct bytes {
	const uint8_t *at;
	size_t len;
};

/* The whole file; free `at` after use. */
struct bytes load_file(int dirfd, const char *path);

struct bytes slice(struct bytes bytes, uint64_t offset, uint64_t len);
struct bytes take(struct bytes *bytes, size_t len);
uint8_t take_u8(struct bytes *bytes);
uint16_t take_u16(struct bytes *bytes);
uint32_t take_u32(struct bytes *bytes);
uint64_t take_u64(struct bytes *bytes);
const char *take_string(struct bytes *bytes);  /* as features have it */
const char *take_cstring(struct bytes *bytes); /* up to its NUL */

/* What is behind the header of the record that comes next, which must be of this kind. */
struct bytes take_record(struct bytes *records, uint32_t type, uint16_t misc);

/* The body of a feature; `at` is NULL when it is not there. */
struct bytes feature(struct bytes file, int bit);

#endif
