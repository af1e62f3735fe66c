// SPDX-License-Identifier: GPL-2.0-only
#include "bundle/archive_name.h"

#include <string.h>
#include <zlib.h>

#include "bundle/archive.h"
#include "capture/capture_file.h"
#include "io.h"
#include "strfmt.h"

static int add_file(uLong *sum, int dirfd, const char *name)
{
	_cleanup_close_ int fd = regular_open(dirfd, name);
	unsigned char buf[65536];
	ssize_t size;

	if (fd < 0)
		return fd;
	while ((size = read(fd, buf, sizeof(buf))) > 0)
		*sum = crc32(*sum, buf, (uInt)size);
	return size < 0 ? -errno : 0;
}

/* Removes all but letters that are safe in file names: captures are not trusted. */
static void make_safe(char *host)
{
	for (char *c = host; *c; c++) {
		if (!strchr("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_", *c))
			*c = '_';
	}
}

int archive_name(const char *folder, char **name)
{
	_cleanup_close_ int dirfd = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	_cleanup_(capture_file_close) struct capture_file file = { 0 };
	_cleanup_free_ char *top = NULL, *why = NULL, *host = NULL;
	uLong sum = 0;
	int r = dirfd < 0 ? -errno : archiving_top(folder, &top);

	r = r ?: capture_file_open(&file, folder, &why);
	r = r ?: add_file(&sum, dirfd, CAPTURE_FILE_NAME);
	/* A capture of a poked perf has no trace. */
	if (!r && view_has_trace(file.view.recorder))
		r = add_file(&sum, dirfd, "perf.data/data");
	if (r)
		return r;
	host = strfmt("%.127s", file.capture->hostname ?: "unknown");
	if (!host)
		return -ENOMEM;
	make_safe(host);
	*name = strfmt("%s-%s-%08lx.tar.zst", host, top, sum);
	return *name ? 0 : -ENOMEM;
}
