// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
/* On records defined here byte by byte. */
#include "read.h"
#include "test.h"
#include "util.h"

#include <string.h>

#define MMAP 1
#define MMAP2 10
#define MISC_BUILD_ID (1 << 14)
#define MISC_DATA (1 << 13)
#define EXEC 4

/* All but the header are words; the name is behind the fixed part. */
struct record {
	uint32_t type;
	uint16_t misc, size;
	uint32_t pid, tid;
	uint64_t start, length, offset;
	union {
		char name[40];
		struct {
			uint32_t words[2];
			uint64_t inode, generation;
			uint32_t protection, flags;
			char name2[8];
		};
		struct {
			uint8_t id_size, reserved[3];
			uint8_t id[20];
		};
	};
};

static bool take(const struct record *record, struct perfdata_mapping *mapping)
{
	return perfdata_mapping((const uint8_t *)record, mapping);
}

TEST(reads_mmap)
{
	struct record record = { MMAP, 0, 56, 7, 8, 4096, 16, 32, { .name = "[acme]" } };
	struct perfdata_mapping mapping;

	assert_true(take(&record, &mapping));
	assert_int_equal(mapping.pid, 7);
	assert_int_equal(mapping.start, 4096);
	assert_int_equal(mapping.end, 4112);
	assert_int_equal(mapping.offset, 32);
	assert_string_equal(mapping.name, "[acme]");
	assert_int_equal(mapping.build_id.size, 0);
	assert_int_equal(mapping.inode, 0);
	assert_false(mapping.is_data);
	record.misc = MISC_DATA;
	record.length = UINT64_MAX;
	assert_true(take(&record, &mapping));
	assert_true(mapping.is_data && mapping.end == UINT64_MAX);
}

TEST(reads_mmap2)
{
	struct record record = { MMAP2, 0, 80, 7, 8, 4096, 16, 32, { { 0 } } };
	struct perfdata_mapping mapping;

	record.inode = 99;
	record.protection = EXEC;
	strcpy(record.name2, "/bin/a");
	assert_true(take(&record, &mapping));
	assert_string_equal(mapping.name, "/bin/a");
	assert_int_equal(mapping.inode, 99);
	assert_int_equal(mapping.build_id.size, 0);
	assert_false(mapping.is_data);
	record.protection = 1;
	record.misc = MISC_BUILD_ID;
	record.id_size = 20;
	assert_true(take(&record, &mapping));
	assert_true(mapping.is_data);
	assert_int_equal(mapping.inode, 0);
	assert_int_equal(mapping.build_id.size, 20);
	assert_ptr_equal(mapping.build_id.data, record.id);
	record.id_size = 21;
	assert_true(take(&record, &mapping));
	assert_int_equal(mapping.build_id.size, 0);
}

/* The bytes after a record are another's. */
TEST(refuses_names_without_end)
{
	struct record record = { MMAP, 0, 46, 7, 8, 4096, 16, 32, { .name = "[acme]" } };
	struct perfdata_mapping mapping;

	for (int size = 0; size <= 46; size++) {
		record.size = (uint16_t)size;
		assert_false(take(&record, &mapping));
	}
	record.size = 47;
	assert_true(take(&record, &mapping));
	record.type = MMAP2;
	assert_false(take(&record, &mapping));
	record.type = 3;
	assert_false(take(&record, &mapping));
}

TEST(reads_the_table)
{
	struct {
		uint32_t type;
		uint16_t misc, size;
		uint32_t pid;
		uint8_t id[20], id_size, reserved[3];
		char name[8];
	} record = { 67, 0, 44, 0, "id", 255, "", "/bin/a" };
	struct perfdata_identified file;

	assert_true(perfdata_identified((const uint8_t *)&record, &file));
	assert_string_equal(file.name, "/bin/a");
	assert_ptr_equal(file.build_id.data, record.id);
	assert_int_equal(file.build_id.size, 20);
	record.misc = 1 << 15;
	assert_true(perfdata_identified((const uint8_t *)&record, &file));
	assert_int_equal(file.build_id.size, 0);
	record.id_size = 8;
	assert_true(perfdata_identified((const uint8_t *)&record, &file));
	assert_int_equal(file.build_id.size, 8);
	record.size = 42;
	assert_false(perfdata_identified((const uint8_t *)&record, &file));
	record.size = 36;
	assert_false(perfdata_identified((const uint8_t *)&record, &file));
}
