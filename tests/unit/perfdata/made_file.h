/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/* A perf.data that a test writes to its folder and reads back. */
#ifndef TEST_PERFDATA_MADE_FILE_H
#define TEST_PERFDATA_MADE_FILE_H

#include "helpers.h"
#include "perfdata.h"

static inline struct perfdata *create(const struct perfdata_event *events, size_t nr)
{
	struct perfdata *pd = NULL;

	assert_int_equal(perfdata_create(&pd, folder->fd, "perf.data", events, nr), 0);
	assert_non_null(pd);
	return pd;
}

static inline struct bytes finish(struct perfdata *pd, uint64_t first_ns, uint64_t last_ns)
{
	struct bytes file;

	assert_int_equal(perfdata_finish(pd, NULL, first_ns, last_ns), 0);
	file = load_file(folder->fd, "perf.data/data");
	assert_int_equal(perfdata_size(pd), file.len);
	perfdata_free(pd);
	return file;
}

/* One event, one record, and the features, which are freed. */
static inline struct bytes write_features(struct perfdata_features *features, const char *name)
{
	const struct perfdata_event event = { .name = name };
	struct perfdata *pd = create(&event, 1);

	assert_int_equal(perfdata_write(pd, "01234567", 8), 0);
	assert_int_equal(perfdata_finish(pd, features, 0, 0), 0);
	perfdata_free(pd);
	perfdata_features_free(features);
	return load_file(folder->fd, "perf.data/data");
}

#endif
