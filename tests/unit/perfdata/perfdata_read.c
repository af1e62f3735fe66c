// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
/* On a file defined here byte by byte. */
#include "perfdata_read.h"

#include <string.h>
#include <sys/mman.h>

#include "helpers.h"
#include "test.h"
#include "util.h"

#define HEADER 104
#define COMM 3
#define TRACE_SIZE 24

/* Header, two records (one with a trace), a table of two features, the second one's body. */
struct image {
	uint64_t header[13];
	struct {
		uint32_t type;
		uint16_t misc, size;
		uint64_t body;
	} comm;
	struct {
		uint32_t type;
		uint16_t misc, size;
		uint64_t trace_size, rest[4];
		uint8_t trace[TRACE_SIZE];
	} auxtrace;
	struct perfdata_section features[2];
	uint8_t body[5];
} __attribute__((packed));

static const struct image image = {
	.header = { 0x32454c4946524550, HEADER, 144, HEADER, 0, HEADER,
		    offsetof(struct image, features) - HEADER, 0, 0, 1 << 2 | 1 << 5 },
	.comm = { COMM, 2, 16, 7 },
	.auxtrace = { PERFDATA_RECORD_AUXTRACE, 0, 48, TRACE_SIZE, { 0 }, "trace" },
	.features = { { HEADER, 0 }, { offsetof(struct image, body), 5 } },
	.body = "body",
};

static int map_bytes(struct perfdata_file *file, const void *bytes, size_t size)
{
	_cleanup_close_ int fd = memfd_create("perf.data", MFD_CLOEXEC);

	assert_true(fd >= 0);
	assert_int_equal(write(fd, bytes, size), size);
	return perfdata_map(file, fd);
}

TEST(reads)
{
	struct perfdata_section section = {};
	struct perfdata_record record;
	struct perfdata_file file;
	uint64_t at;

	assert_int_equal(map_bytes(&file, &image, sizeof(image)), 0);
	assert_int_equal(file.size, sizeof(image));
	assert_int_equal(file.whole, sizeof(image));
	at = file.data.offset;
	assert_true(perfdata_next(&file, &at, &record));
	assert_int_equal(record.type, COMM);
	assert_int_equal(record.misc, 2);
	assert_int_equal(record.size, 16);
	assert_int_equal(record.bytes[8], 7);
	assert_null(record.trace);
	assert_true(perfdata_next(&file, &at, &record));
	assert_int_equal(record.type, PERFDATA_RECORD_AUXTRACE);
	assert_int_equal(record.trace_size, TRACE_SIZE);
	assert_memory_equal(record.trace, "trace", 6);
	assert_false(perfdata_next(&file, &at, &record));
	assert_int_equal(perfdata_feature(&file, 2, &section), 0);
	assert_int_equal(section.size, 0);
	assert_int_equal(perfdata_feature(&file, 5, &section), 0);
	assert_memory_equal(file.bytes + section.offset, "body", section.size);
	assert_int_equal(perfdata_feature(&file, 3, &section), -ENOENT);
	assert_int_equal(perfdata_feature(&file, 200, &section), -ENOENT);
	perfdata_unmap(&file);
	assert_null(file.bytes);
	perfdata_unmap(&file);
}

static size_t count_records(const struct perfdata_file *file)
{
	struct perfdata_record record;
	size_t nr = 0;

	for (uint64_t at = file->data.offset; perfdata_next(file, &at, &record); nr++) {
		assert_true(record.bytes + record.size <= file->bytes + file->size);
		assert_true(record.trace + record.trace_size <= file->bytes + file->size);
	}
	return nr;
}

TEST(reads_what_is_there_of_truncated_files)
{
	size_t second = HEADER + 16, third = offsetof(struct image, features);

	for (size_t size = 0; size < sizeof(image); size++) {
		struct perfdata_section section;
		struct perfdata_file file;
		int r = map_bytes(&file, &image, size);

		assert_int_equal(r, size < HEADER ? -EINVAL : 0);
		if (r)
			continue;
		assert_true(file.whole > size);
		assert_int_equal(count_records(&file), size < second ? 0 : size < third ? 1 : 2);
		assert_int_equal(perfdata_feature(&file, 5, &section), -EINVAL);
		perfdata_unmap(&file);
	}
}

/* Each offset, size and count, at its maximum and near it. */
TEST(believes_no_number)
{
	static const uint64_t numbers[] = { UINT64_MAX, UINT64_MAX - 7, INT64_MAX, 1, 0 };
	static const size_t places[] = {
		8,
		24,
		32,
		40,
		48,
		72,
		80,
		96,
		HEADER,
		HEADER + 16,
		HEADER + 24,
		offsetof(struct image, features),
		offsetof(struct image, features) + 24,
	};

	for (size_t i = 0; i < ARRAY_SIZE(places) * ARRAY_SIZE(numbers); i++) {
		struct perfdata_section section;
		struct perfdata_file file;
		struct image odd = image;

		memcpy((char *)&odd + places[i / ARRAY_SIZE(numbers)],
		       &numbers[i % ARRAY_SIZE(numbers)], sizeof(*numbers));
		if (map_bytes(&file, &odd, sizeof(odd)))
			continue;
		assert_true(count_records(&file) <= sizeof(odd) / 8);
		for (unsigned int feature = 0; feature < 256; feature++) {
			if (!perfdata_feature(&file, feature, &section))
				assert_true(section.offset + section.size <= sizeof(odd));
		}
		perfdata_unmap(&file);
	}
}

TEST(refuses)
{
	struct image odd = image;
	struct perfdata_file file;
	int fds[2];

	odd.header[0]++;
	assert_int_equal(map_bytes(&file, &odd, sizeof(odd)), -EINVAL);
	/* What was written to a pipe */
	odd = image;
	odd.header[1] = 16;
	assert_int_equal(map_bytes(&file, &odd, sizeof(odd)), -ENOTSUP);
	assert_int_equal(pipe(fds), 0);
	assert_int_equal(perfdata_map(&file, fds[0]), -EINVAL);
	close(fds[0]);
	close(fds[1]);
	assert_int_equal(perfdata_map(&file, -1), -EBADF);
}

/* On records defined here byte by byte. */

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

static bool read_mapping(const struct record *record, struct perfdata_mapping *mapping)
{
	return perfdata_mapping((const uint8_t *)record, mapping);
}

TEST(reads_mmap)
{
	struct record record = { MMAP, 0, 56, 7, 8, 4096, 16, 32, { .name = "[acme]" } };
	struct perfdata_mapping mapping;

	assert_true(read_mapping(&record, &mapping));
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
	assert_true(read_mapping(&record, &mapping));
	assert_true(mapping.is_data && mapping.end == UINT64_MAX);
}

TEST(reads_mmap2)
{
	struct record record = { MMAP2, 0, 80, 7, 8, 4096, 16, 32, { { 0 } } };
	struct perfdata_mapping mapping;

	record.inode = 99;
	record.protection = EXEC;
	strcpy(record.name2, "/bin/a");
	assert_true(read_mapping(&record, &mapping));
	assert_string_equal(mapping.name, "/bin/a");
	assert_int_equal(mapping.inode, 99);
	assert_int_equal(mapping.build_id.size, 0);
	assert_false(mapping.is_data);
	record.protection = 1;
	record.misc = MISC_BUILD_ID;
	record.id_size = 20;
	assert_true(read_mapping(&record, &mapping));
	assert_true(mapping.is_data);
	assert_int_equal(mapping.inode, 0);
	assert_int_equal(mapping.build_id.size, 20);
	assert_ptr_equal(mapping.build_id.data, record.id);
	record.id_size = 21;
	assert_true(read_mapping(&record, &mapping));
	assert_int_equal(mapping.build_id.size, 0);
}

/* The bytes after a record are another's. */
TEST(refuses_names_without_end)
{
	struct record record = { MMAP, 0, 46, 7, 8, 4096, 16, 32, { .name = "[acme]" } };
	struct perfdata_mapping mapping;

	for (int size = 0; size <= 46; size++) {
		record.size = (uint16_t)size;
		assert_false(read_mapping(&record, &mapping));
	}
	record.size = 47;
	assert_true(read_mapping(&record, &mapping));
	record.type = MMAP2;
	assert_false(read_mapping(&record, &mapping));
	record.type = 3;
	assert_false(read_mapping(&record, &mapping));
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
