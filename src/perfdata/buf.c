// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
#include "internal.h"

#include <fcntl.h>
#include <string.h>

#define STRING_ALIGN 64
#define READ_BLOCK (64 * 1024)

void perfdata_buf_release(struct perfdata_buf *buf)
{
	free(buf->data);
	*buf = (struct perfdata_buf){};
}

/* Makes room for `len` bytes. Returns NULL if out of memory, now or before. */
static uint8_t *reserve(struct perfdata_buf *buf, size_t len)
{
	size_t size = buf->size ? buf->size : 256;
	uint8_t *data;

	if (buf->error)
		return NULL;
	while (size - buf->len < len)
		size *= 2;
	if (size != buf->size) {
		data = realloc(buf->data, size);
		if (!data) {
			buf->error = -ENOMEM;
			return NULL;
		}
		buf->data = data;
		buf->size = size;
	}
	return buf->data + buf->len;
}

void perfdata_buf_add(struct perfdata_buf *buf, const void *data, size_t len)
{
	uint8_t *to = reserve(buf, len);

	if (!to || !len)
		return;
	memcpy(to, data, len);
	buf->len += len;
}

void perfdata_buf_append(struct perfdata_buf *buf, const struct perfdata_buf *other)
{
	perfdata_buf_add(buf, other->data, other->len);
	if (!buf->error)
		buf->error = other->error;
}

void perfdata_buf_zero(struct perfdata_buf *buf, size_t len)
{
	uint8_t *to = reserve(buf, len);

	if (!to)
		return;
	memset(to, 0, len);
	buf->len += len;
}

void perfdata_buf_u32(struct perfdata_buf *buf, uint32_t value)
{
	perfdata_buf_add(buf, &value, sizeof(value));
}

void perfdata_buf_u64(struct perfdata_buf *buf, uint64_t value)
{
	perfdata_buf_add(buf, &value, sizeof(value));
}

void perfdata_buf_header(struct perfdata_buf *buf, uint32_t type, uint16_t misc, size_t size)
{
	const struct perf_event_header header = { .type = type, .misc = misc, .size = size };

	perfdata_buf_add(buf, &header, sizeof(header));
}

void perfdata_buf_string(struct perfdata_buf *buf, const char *string)
{
	size_t len = strlen(string);
	size_t padded = (len / STRING_ALIGN + 1) * STRING_ALIGN;

	perfdata_buf_u32(buf, padded);
	perfdata_buf_add(buf, string, len);
	perfdata_buf_zero(buf, padded - len);
}

int perfdata_buf_read_file(struct perfdata_buf *buf, int dirfd, const char *path)
{
	_cleanup_close_ int fd = openat(dirfd, path, O_RDONLY | O_CLOEXEC);
	uint8_t *to;
	ssize_t n;

	if (fd < 0)
		return -errno;
	for (;;) {
		to = reserve(buf, READ_BLOCK);
		if (!to)
			return buf->error;
		n = read(fd, to, buf->size - buf->len);
		if (n == 0)
			return 0;
		if (n > 0)
			buf->len += n;
		else if (errno != EINTR)
			return -errno;
	}
}

int perfdata_buf_read_text(struct perfdata_buf *buf, int dirfd, const char *path)
{
	int r = perfdata_buf_read_file(buf, dirfd, path);

	if (r < 0)
		return r;
	perfdata_buf_zero(buf, 1);
	return buf->error;
}

ssize_t perfdata_read_string(int dirfd, const char *path, char *string, size_t size)
{
	_cleanup_close_ int fd = openat(dirfd, path, O_RDONLY | O_CLOEXEC);
	ssize_t len;

	if (fd < 0)
		return -errno;
	len = read(fd, string, size - 1);
	if (len < 0)
		return -errno;
	if (len && string[len - 1] == '\n')
		len--;
	string[len] = '\0';
	return len;
}
