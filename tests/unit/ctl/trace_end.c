// SPDX-License-Identifier: GPL-2.0-only
/* Of a file that is written out here, and read back with what reads all others. */
#include "trace_end.h"

#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "read.h"
#include "tree.h"

#define HEADER 104
#define COMM 3
#define BUILD_ID 2
#define AUXTRACE_INDEX 18
#define KEPT (128 * 1024)
#define TRACE_SIZE (2 * KEPT)
#define PSB "\x02\x82\x02\x82\x02\x82\x02\x82\x02\x82\x02\x82\x02\x82\x02\x82"

struct auxtrace {
	uint32_t type;
	uint16_t misc, size;
	uint64_t trace_size, offset, reference;
	uint32_t index, tid, cpu, reserved;
	uint8_t trace[TRACE_SIZE];
} __attribute__((packed));

struct comm {
	uint32_t type;
	uint16_t misc, size;
	uint64_t body;
} __attribute__((packed));

static struct image {
	uint64_t header[13];
	struct auxtrace other;
	struct comm between;
	struct auxtrace spike;
	struct comm last;
	struct perfdata_section features[2];
	uint8_t build_id[8], index[8];
} __attribute__((packed)) image;

/* The trace of CPU 2 has points at these offsets. */
static void make_image(const size_t *points, size_t nr)
{
	const struct auxtrace head = { PERFDATA_RECORD_AUXTRACE, 0, 48, TRACE_SIZE, 0, 9, 1, -1 };

	image = (struct image){
		.header = { 0x32454c4946524550, HEADER, 144, HEADER, 0, HEADER,
			    offsetof(struct image, features) - HEADER, 0, 0,
			    1 << BUILD_ID | 1 << AUXTRACE_INDEX },
		.between = { COMM, 0, sizeof(struct comm), 7 },
		.last = { COMM, 0, sizeof(struct comm), 8 },
		.features = { { offsetof(struct image, build_id), 8 },
			      { offsetof(struct image, index), 8 } },
		.build_id = "vmlinux",
	};
	image.other = head;
	image.other.cpu = 1;
	memcpy(image.other.trace, PSB, 16);
	image.spike = head;
	image.spike.cpu = 2;
	memset(image.spike.trace, 6, TRACE_SIZE);
	for (size_t i = 0; i < nr; i++)
		memcpy(image.spike.trace + points[i], PSB, 16);
}

struct copy {
	char folder[40], data[60], to[60];
	struct perfdata_file file;
};

static int copy_image(struct copy *copy, size_t size, int cpu)
{
	char path[100];
	int fd;

	*copy = (struct copy){ .folder = "/tmp/perf-poke-test.XXXXXX" };
	assert_non_null(mkdtemp(copy->folder));
	snprintf(copy->data, sizeof(copy->data), "%s/perf.data", copy->folder);
	snprintf(copy->to, sizeof(copy->to), "%s/end", copy->folder);
	assert_int_equal(mkdir(copy->data, 0700), 0);
	snprintf(path, sizeof(path), "%s/data", copy->data);
	fd = open(path, O_WRONLY | O_CREAT | O_EXCL, 0600);
	assert_int_equal(write(fd, &image, size), size);
	close(fd);
	snprintf(path, sizeof(path), "%s/kcore_dir", copy->data);
	assert_int_equal(mkdir(path, 0700), 0);
	return trace_end_copy(copy->data, cpu, copy->to);
}

static void map_copy(struct copy *copy)
{
	char path[100];
	int fd;

	snprintf(path, sizeof(path), "%s/data", copy->to);
	fd = open(path, O_RDONLY);
	assert_int_equal(perfdata_map(&copy->file, fd), 0);
	close(fd);
}

static void remove_copy(struct copy *copy)
{
	perfdata_unmap(&copy->file);
	assert_int_equal(tree_remove(AT_FDCWD, copy->folder), 0);
}

/* So much of the trace of one CPU, between the other records. */
static void check_records(const struct perfdata_file *file, uint32_t cpu, const uint8_t *trace,
			  size_t size)
{
	struct perfdata_record record;
	uint64_t at = file->data.offset;
	uint64_t bodies[2];
	size_t nr = 0;

	while (perfdata_next(file, &at, &record)) {
		if (!record.trace) {
			assert_int_equal(record.type, COMM);
			assert_in_range(nr, 0, 1);
			memcpy(&bodies[nr++], record.bytes + 8, 8);
			continue;
		}
		assert_memory_equal(record.bytes + offsetof(struct auxtrace, cpu), &cpu, 4);
		assert_int_equal(record.bytes[offsetof(struct auxtrace, reference)], 9);
		assert_int_equal(record.trace_size, (size + 7) / 8 * 8);
		assert_memory_equal(record.trace, trace, size);
		for (size_t i = size; i < record.trace_size; i++)
			assert_int_equal(record.trace[i], 0);
		trace = NULL;
	}
	assert_null(trace);
	assert_int_equal(nr, 2);
	assert_int_equal(bodies[0], 7);
	assert_int_equal(bodies[1], 8);
	assert_int_equal(at, file->data.offset + file->data.size);
}

/* They are behind the data, and the index has offsets that hold no more. */
static void check_features(const struct perfdata_file *file)
{
	struct perfdata_section section;

	assert_true(file->whole <= file->size);
	assert_int_equal(perfdata_feature(file, AUXTRACE_INDEX, &section), -ENOENT);
	assert_int_equal(perfdata_feature(file, BUILD_ID, &section), 0);
	assert_int_equal(section.size, 8);
	assert_memory_equal(file->bytes + section.offset, "vmlinux", 8);
}

static void keeps_the_end(void **state)
{
	/* The third has less behind it than is kept. */
	static const size_t points[] = { 64, KEPT - 21, KEPT + 8 };
	char path[100], target[100] = "", expected[100];
	struct copy copy;

	(void)state;
	make_image(points, ARRAY_SIZE(points));
	assert_int_equal(copy_image(&copy, sizeof(image), 2), 0);
	map_copy(&copy);
	check_records(&copy.file, 2, image.spike.trace + KEPT - 21, KEPT + 21);
	check_features(&copy.file);
	snprintf(path, sizeof(path), "%s/kcore_dir", copy.to);
	snprintf(expected, sizeof(expected), "%s/kcore_dir", copy.data);
	assert_true(readlink(path, target, sizeof(target) - 1) > 0);
	assert_string_equal(target, expected);
	remove_copy(&copy);
}

static void keeps_all_without_a_point(void **state)
{
	static const size_t points[] = { KEPT + 1 };
	struct copy copy;

	(void)state;
	make_image(points, ARRAY_SIZE(points));
	assert_int_equal(copy_image(&copy, sizeof(image), 2), 0);
	map_copy(&copy);
	check_records(&copy.file, 2, image.spike.trace, TRACE_SIZE);
	check_features(&copy.file);
	remove_copy(&copy);
}

static void takes_the_first_of_no_cpu(void **state)
{
	struct copy copy;

	(void)state;
	make_image(NULL, 0);
	assert_int_equal(copy_image(&copy, sizeof(image), -1), 0);
	map_copy(&copy);
	check_records(&copy.file, 1, image.other.trace, TRACE_SIZE);
	remove_copy(&copy);
}

static void refuses(void **state)
{
	struct copy copy;

	(void)state;
	make_image(NULL, 0);
	assert_int_equal(copy_image(&copy, sizeof(image) - 1, 2), -EINVAL);
	remove_copy(&copy);
	assert_int_equal(copy_image(&copy, 8, 2), -EINVAL);
	remove_copy(&copy);
	assert_int_equal(trace_end_copy("/nonexistent", 2, "/nonexistent/end"), -ENOENT);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(keeps_the_end),
		cmocka_unit_test(keeps_all_without_a_point),
		cmocka_unit_test(takes_the_first_of_no_cpu),
		cmocka_unit_test(refuses),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
