// SPDX-License-Identifier: GPL-2.0-only
#include "archive/archive.h"

#include <string.h>

#include "fuzz.h"
#include "perfdata_read.h"

static void walk(int fd)
{
	struct perfdata_record record;
	struct perfdata_file file;
	uint64_t at;

	if (perfdata_map(&file, fd))
		return;
	for (at = file.data.offset; perfdata_next(&file, &at, &record);) {
		if (at > file.size)
			abort();
	}
	perfdata_unmap(&file);
}

int fuzz_one(const uint8_t *data, size_t size)
{
	_cleanup_close_ int fd = fuzz_file(data, size);
	_cleanup_free_ char *why = NULL;
	struct traced_file *files = NULL;
	char hex[BUILD_ID_HEX_SIZE];
	size_t nr = 0;
	int r;

	walk(fd);
	r = traced_files_read(fd, &files, &nr, &why);
	if (r && !why)
		abort();
	for (size_t i = 0; i < nr; i++) {
		build_id_format(&files[i].id, hex);
		if (strlen(hex) != 2 * (size_t)files[i].id.size || !*files[i].name)
			abort();
	}
	traced_files_free(files, nr);
	return r;
}
