// SPDX-License-Identifier: GPL-2.0-only
#include "gzip.h"

#include <string.h>
#include <sys/stat.h>
#include <zlib.h>

#include "write_all.h"

/* Little slower than none, and a tenth of the size. */
#define LEVEL 1
#define RAW (-15)
#define MEMORY 8

struct gzip {
	int fd;
	bool is_part;
	z_stream stream;
	uint8_t *chunk, *compressed;
	size_t nr, room; /* in the chunk; of the other one */
	uint32_t crc;	 /* of all that was compressed */
	uint32_t size;
};

void gzip_free(struct gzip *gzip)
{
	if (!gzip)
		return;
	deflateEnd(&gzip->stream);
	free(gzip->chunk);
	free(gzip->compressed);
	free(gzip);
}

int gzip_new_part(struct gzip **ret, int fd)
{
	struct gzip *gzip = calloc(1, sizeof(*gzip));

	if (!gzip)
		return -ENOMEM;
	gzip->fd = fd;
	gzip->is_part = true;
	if (deflateInit2(&gzip->stream, LEVEL, Z_DEFLATED, RAW, MEMORY, Z_DEFAULT_STRATEGY) !=
	    Z_OK) {
		free(gzip);
		return -ENOMEM;
	}
	/* And where a chunk ends. */
	gzip->room = deflateBound(&gzip->stream, GZIP_CHUNK) + 16;
	gzip->chunk = malloc(GZIP_CHUNK);
	gzip->compressed = malloc(gzip->room);
	if (!gzip->chunk || !gzip->compressed) {
		gzip_free(gzip);
		return -ENOMEM;
	}
	*ret = gzip;
	return 0;
}

int gzip_new(struct gzip **ret, int fd)
{
	static const uint8_t header[10] = { 0x1f, 0x8b, Z_DEFLATED, [8] = 4, 3 };
	int r = gzip_new_part(ret, fd);

	if (r)
		return r;
	(*ret)->is_part = false;
	r = write_all(fd, header, sizeof(header));
	if (r) {
		gzip_free(*ret);
		*ret = NULL;
	}
	return r;
}

static int compress_chunk(struct gzip *gzip)
{
	z_stream *stream = &gzip->stream;

	if (!gzip->nr)
		return 0;
	deflateReset(stream);
	stream->next_in = gzip->chunk;
	stream->avail_in = (uInt)gzip->nr;
	stream->next_out = gzip->compressed;
	stream->avail_out = (uInt)gzip->room;
	/* To a whole byte. */
	if (deflate(stream, Z_SYNC_FLUSH) != Z_OK || stream->avail_in || !stream->avail_out)
		return -EIO;
	gzip->crc = (uint32_t)crc32(gzip->crc, gzip->chunk, (uInt)gzip->nr);
	gzip->size += (uint32_t)gzip->nr;
	gzip->nr = 0;
	return write_all(gzip->fd, gzip->compressed, gzip->room - stream->avail_out);
}

int gzip_write(struct gzip *gzip, const void *bytes, size_t size)
{
	const uint8_t *from = bytes;

	while (size) {
		size_t room = GZIP_CHUNK - gzip->nr;
		size_t nr = size < room ? size : room;
		int r;

		memcpy(gzip->chunk + gzip->nr, from, nr);
		gzip->nr += nr;
		from += nr;
		size -= nr;
		r = gzip->nr == GZIP_CHUNK ? compress_chunk(gzip) : 0;
		if (r)
			return r;
	}
	return 0;
}

size_t gzip_lead(const struct gzip *gzip)
{
	return gzip->nr ? GZIP_CHUNK - gzip->nr : 0;
}

int gzip_append(struct gzip *gzip, int fd, int64_t size)
{
	struct stat st;
	uint32_t crc;
	off_t at = 0, end;

	if (fstat(fd, &st))
		return -errno;
	end = st.st_size - (off_t)sizeof(crc);
	if (end < 0 || pread(fd, &crc, sizeof(crc), end) != sizeof(crc))
		return -EIO;
	while (at < end) {
		size_t wanted = (size_t)(end - at) < gzip->room ? (size_t)(end - at) : gzip->room;
		ssize_t nr = pread(fd, gzip->compressed, wanted, at);
		int r;

		if (nr < 0 && errno == EINTR)
			continue;
		if (nr <= 0)
			return nr ? -errno : -EIO;
		r = write_all(gzip->fd, gzip->compressed, (size_t)nr);
		if (r)
			return r;
		at += nr;
	}
	gzip->crc = (uint32_t)crc32_combine(gzip->crc, crc, size);
	gzip->size += (uint32_t)size;
	return 0;
}

int gzip_finish(struct gzip *gzip)
{
	/* A last block with nothing in it. */
	uint8_t end[2 + 2 * sizeof(uint32_t)] = { 0x03, 0 };
	int r = compress_chunk(gzip);

	if (r)
		return r;
	if (gzip->is_part)
		return write_all(gzip->fd, &gzip->crc, sizeof(gzip->crc));
	for (size_t i = 0; i < sizeof(uint32_t); i++) {
		end[2 + i] = (uint8_t)(gzip->crc >> 8 * i);
		end[6 + i] = (uint8_t)(gzip->size >> 8 * i);
	}
	return write_all(gzip->fd, end, sizeof(end));
}
