// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
/* On a file defined here byte by byte. */
#include "read.h"
#include "helpers.h"
#include "util.h"

#include <string.h>
#include <sys/mman.h>

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
