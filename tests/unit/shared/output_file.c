// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
#include "output_file.h"

#include <sys/stat.h>

#include "helpers.h"

TEST_IN_FOLDER(publishes_files)
{
	_cleanup_free_ char *path = NULL;
	struct output_file file, other;

	assert_true(asprintf(&path, "%s/out", folder->path) > 0);
	assert_int_equal(output_file_open(&file, path, false), 0);
	assert_false(exists("out"));
	assert_int_equal(output_file_open(&other, path, false), 0);
	assert_int_equal(output_file_publish(&file), 0);
	output_file_close(&file);
	assert_true(exists("out"));
	/* The second one fails, and leaves nothing. */
	assert_int_equal(output_file_publish(&other), -EEXIST);
	output_file_close(&other);
	assert_int_equal(output_file_open(&other, path, false), -EEXIST);
	output_file_close(&other);
	/* With --force it replaces the first. */
	assert_int_equal(output_file_open(&other, path, true), 0);
	assert_int_equal(write(other.fd, "new", 3), 3);
	assert_int_equal(output_file_publish(&other), 0);
	output_file_close(&other);
	assert_int_equal(stat_of("out").st_size, 3);
	assert_int_equal(unlinkat(folder->fd, "out", 0), 0);
	assert_int_equal(output_file_open(&file, path, false), 0);
	output_file_close(&file);
	assert_int_equal(rmdir(folder->path), 0);
	assert_int_equal(mkdir(folder->path, 0700), 0);
}
