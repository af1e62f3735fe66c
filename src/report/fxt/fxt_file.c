// SPDX-License-Identifier: GPL-2.0-only
#include "fxt/fxt_file.h"

#include <fcntl.h>
#include <string.h>
#include <zlib.h>

#include "affix.h"
#include "io.h"
#include "strfmt.h"

#define CHUNK 65536
/* Level 1 is hardly slower than no compression, at a tenth of the size. */
#define GZIP_MODE "wb1"

int fxt_file_scratch(const char *path, FILE **ret)
{
	_cleanup_free_ char *name = NULL;
	_cleanup_close_ int fd = -1;
	FILE *file;

	name = strfmt("%s.XXXXXX", path);
	if (!name)
		return -ENOMEM;
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

char *fxt_file_path(const char *path, int number)
{
	const char *slash = strrchr(path, '/');
	const char *name = slash ? slash + 1 : path;
	const char *suffix = strstr(name, ".fxt") ?: strrchr(name, '.');

	if (number < 0)
		return strdup(path);
	if (!suffix)
		suffix = path + strlen(path);
	return strfmt("%.*s.%03d%s", (int)(suffix - path), path, number, suffix);
}

static int open_scratch(struct fxt_file *out, bool compress)
{
	_cleanup_close_ int fd = -1;
	int r;

	fd = mkostemp(out->scratch, O_CLOEXEC);
	if (fd < 0) {
		r = -errno;
		free(out->scratch);
		out->scratch = NULL;
		return r;
	}
	if (!compress) {
		out->fd = TAKE_FD(fd);
		return 0;
	}
	out->gzip = gzdopen(fd, GZIP_MODE);
	if (!out->gzip)
		return -ENOMEM;
	TAKE_FD(fd);
	return gzbuffer(out->gzip, CHUNK) ? -ENOMEM : 0;
}

int fxt_file_open(struct fxt_file *out, const char *path, int number)
{
	*out = (struct fxt_file){ .path = fxt_file_path(path, number), .fd = -1 };
	out->scratch = out->path ? strfmt("%s.XXXXXX", out->path) : NULL;
	if (!out->scratch)
		return -ENOMEM;
	return open_scratch(out, has_suffix(path, ".gz"));
}

int fxt_file_write(struct fxt_file *out, const void *bytes, size_t size)
{
	if (!out->gzip)
		return write_all(out->fd, bytes, size);
	errno = 0;
	if (size && gzwrite(out->gzip, bytes, (unsigned int)size) != (int)size)
		return errno ? -errno : -EIO;
	return 0;
}

int fxt_file_copy(struct fxt_file *out, int fd, int64_t begin, int64_t end,
		  const volatile sig_atomic_t *stop)
{
	char bytes[CHUNK];

	while (begin < end) {
		size_t wanted = end - begin < CHUNK ? (size_t)(end - begin) : CHUNK;
		ssize_t nr = pread(fd, bytes, wanted, begin);
		int r;

		if (nr < 0 && errno == EINTR)
			continue;
		if (nr <= 0)
			return nr ? -errno : -EIO;
		r = fxt_file_write(out, bytes, (size_t)nr);
		if (!r && stop && *stop)
			r = -EINTR;
		if (r)
			return r;
		begin += nr;
	}
	return 0;
}

int fxt_file_close(struct fxt_file *out)
{
	struct gzFile_s *gzip = TAKE_PTR(out->gzip);
	int fd = TAKE_FD(out->fd);

	errno = 0;
	if (gzip && gzclose(gzip) != Z_OK)
		return errno ? -errno : -EIO;
	return fd >= 0 && close(fd) ? -errno : 0;
}

int fxt_file_publish(struct fxt_file *out)
{
	if (rename(out->scratch, out->path))
		return -errno;
	free(out->scratch);
	out->scratch = NULL;
	return 0;
}

void fxt_file_release(struct fxt_file *out)
{
	if (out->gzip)
		gzclose(out->gzip);
	if (out->path)
		closep(&out->fd);
	if (out->scratch)
		unlink(out->scratch);
	free(out->scratch);
	free(out->path);
	*out = (struct fxt_file){ 0 };
}
