// SPDX-License-Identifier: GPL-2.0-only
#include "perf_data.h"

#include <inttypes.h>
#include <limits.h>
#include <sys/stat.h>

#include "options.h"
#include "regular.h"

#define MAGIC UINT64_C(0x32454c4946524550) /* PERFILE2 */

struct section {
	uint64_t offset, size;
};

struct header {
	uint64_t magic, size, attr_size;
	struct section attrs, data, types;
	uint64_t features[4];
};

/* UINT64_MAX if that is beyond all files. */
static uint64_t end_of(const struct section *section)
{
	uint64_t end;

	return __builtin_add_overflow(section->offset, section->size, &end) ? UINT64_MAX : end;
}

/* Of all that the file says it has: behind the data is a table of the sections of features. */
static uint64_t find_end(int fd, const struct header *header)
{
	uint64_t table = end_of(&header->data);
	uint64_t end = end_of(&header->attrs);

	if (table > end)
		end = table;
	for (size_t i = 0; i < ARRAY_SIZE(header->features); i++) {
		for (uint64_t bits = header->features[i]; bits; bits &= bits - 1) {
			struct section section;
			uint64_t last;

			if (table > INT64_MAX - sizeof(section))
				return end;
			if (pread(fd, &section, sizeof(section), (off_t)table) != sizeof(section))
				return table + sizeof(section);
			table += sizeof(section);
			last = end_of(&section);
			if (last > end)
				end = last;
		}
	}
	return end;
}

int perf_data_check(const char *path, char **why)
{
	_cleanup_close_ int fd = regular_open(AT_FDCWD, path);
	struct header header;
	struct stat st;
	uint64_t end;

	if (fd == -EINVAL)
		return options_explain(why, fd, "%s is not a file", path);
	if (fd < 0 || fstat(fd, &st))
		return options_explain(why, -errno, "cannot read %s: %m", path);
	if (pread(fd, &header, sizeof(header), 0) != sizeof(header) || header.magic != MAGIC)
		return options_explain(why, -EINVAL, "%s is not a file of perf", path);
	end = find_end(fd, &header);
	if ((uint64_t)st.st_size < end)
		return options_explain(why, -EINVAL,
				       "%s is truncated: it has %" PRIu64 " bytes, not %" PRIu64,
				       path, (uint64_t)st.st_size, end);
	return 0;
}
