// SPDX-License-Identifier: GPL-2.0-only
#include "archive.h"

#include <fcntl.h>
#include <stdbool.h>
#include <string.h>
#include <sys/stat.h>

#define CHUNK 65536
/* Little slower than none, and a tenth of the size. */
#define LEVEL "1"

static bool ends_with(const char *s, const char *end)
{
	size_t length = strlen(s), wanted = strlen(end);

	return length >= wanted && !strcmp(s + length - wanted, end);
}

int archive_scratch(const char *path, FILE **ret)
{
	_cleanup_free_ char *name = NULL;
	_cleanup_close_ int fd = -1;
	FILE *file;

	if (asprintf(&name, "%s.XXXXXX", path) < 0) {
		name = NULL;
		return -ENOMEM;
	}
	fd = mkostemp(name, O_CLOEXEC);
	if (fd < 0)
		return -errno;
	unlink(name);
	file = fdopen(fd, "w+");
	if (!file)
		return -errno;
	TAKE_FD(fd);
	*ret = file;
	return 0;
}

char *archive_path(const char *path, int number)
{
	const char *slash = strrchr(path, '/');
	const char *name = slash ? slash + 1 : path;
	const char *suffix = strstr(name, ".fxt") ?: strrchr(name, '.');
	char *result;

	if (number < 0)
		return strdup(path);
	if (!suffix)
		suffix = path + strlen(path);
	if (asprintf(&result, "%.*s.%03d%s", (int)(suffix - path), path, number, suffix) < 0)
		return NULL;
	return result;
}

static int open_scratch(struct archive *archive, bool compress)
{
	_cleanup_close_ int fd = -1;
	int r;

	fd = mkostemp(archive->scratch, O_CLOEXEC);
	if (fd < 0) {
		r = -errno;
		free(archive->scratch);
		archive->scratch = NULL;
		return r;
	}
	/* As a file that is created, and not for its owner only. */
	r = umask(0);
	umask((mode_t)r);
	if (fchmod(fd, 0666 & ~(mode_t)r))
		return -errno;
	archive->file = gzdopen(fd, compress ? "wb" LEVEL : "wbT");
	if (!archive->file)
		return -ENOMEM;
	TAKE_FD(fd);
	return 0;
}

int archive_open(struct archive *archive, const char *path, int number)
{
	*archive = (struct archive){ .path = archive_path(path, number) };
	if (!archive->path || asprintf(&archive->scratch, "%s.XXXXXX", archive->path) < 0) {
		archive->scratch = NULL;
		return -ENOMEM;
	}
	return open_scratch(archive, ends_with(path, ".gz"));
}

static int write_error(struct archive *archive)
{
	int what;

	gzerror(archive->file, &what);
	return what == Z_ERRNO && errno ? -errno : -EIO;
}

int archive_write(struct archive *archive, const void *bytes, size_t size)
{
	const char *from = bytes;

	while (size) {
		unsigned int nr = size < CHUNK ? (unsigned int)size : CHUNK;

		if (gzwrite(archive->file, from, nr) != (int)nr)
			return write_error(archive);
		from += nr;
		size -= nr;
	}
	return 0;
}

int archive_copy(struct archive *archive, int fd, int64_t begin, int64_t end)
{
	char bytes[CHUNK];

	while (begin < end) {
		size_t wanted = end - begin < CHUNK ? (size_t)(end - begin) : CHUNK;
		ssize_t nr = pread(fd, bytes, wanted, begin);
		int r;

		if (nr <= 0)
			return nr ? -errno : -EIO;
		r = archive_write(archive, bytes, (size_t)nr);
		if (r)
			return r;
		begin += nr;
	}
	return 0;
}

int archive_close(struct archive *archive)
{
	int r = gzclose(archive->file);

	archive->file = NULL;
	if (r == Z_OK)
		return 0;
	return r == Z_ERRNO && errno ? -errno : -EIO;
}

int archive_publish(struct archive *archive)
{
	if (rename(archive->scratch, archive->path))
		return -errno;
	free(archive->scratch);
	archive->scratch = NULL;
	return 0;
}

void archive_release(struct archive *archive)
{
	if (archive->file)
		gzclose(archive->file);
	if (archive->scratch)
		unlink(archive->scratch);
	free(archive->scratch);
	free(archive->path);
	*archive = (struct archive){ 0 };
}
