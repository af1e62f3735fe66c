/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/* Helpers without domain knowledge; never installed. */
#ifndef SHARED_UTIL_H
#define SHARED_UTIL_H

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define ARRAY_SIZE(a) (sizeof(a) / sizeof(*(a)))

#define _cleanup_(fn) __attribute__((cleanup(fn)))
#define _printf_(fmt, args) __attribute__((format(printf, fmt, args)))
#define _must_check_ __attribute__((warn_unused_result))

/* The only way for ownership to leave a local variable. */
#define TAKE_PTR(p)                                                                                \
	({                                                                                         \
		__typeof__(p) *_p = &(p);                                                          \
		__typeof__(p) _taken = *_p;                                                        \
		*_p = NULL;                                                                        \
		_taken;                                                                            \
	})
#define TAKE_FD(fd)                                                                                \
	({                                                                                         \
		int *_fd = &(fd);                                                                  \
		int _taken = *_fd;                                                                 \
		*_fd = -1;                                                                         \
		_taken;                                                                            \
	})

static inline void freep(void *p)
{
	free(*(void **)p);
}

/* Preserves errno, so that it may precede `return -errno`. */
static inline void closep(int *fd)
{
	int saved = errno;

	if (*fd >= 0)
		close(*fd);
	*fd = -1;
	errno = saved;
}

static inline void fclosep(FILE **file)
{
	if (*file)
		fclose(*file);
}

static inline void closedirp(DIR **dir)
{
	if (*dir)
		closedir(*dir);
}

/* Returns 0 or a negative errno. */
static inline int opendir_at(DIR **ret, int dirfd, const char *path)
{
	int fd = openat(dirfd, path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *dir = fd < 0 ? NULL : fdopendir(fd);
	int err = dir ? 0 : -errno;

	if (dir)
		*ret = dir;
	else if (fd >= 0)
		close(fd);
	return err;
}

#define _cleanup_free_ _cleanup_(freep)
#define _cleanup_close_ _cleanup_(closep)
#define _cleanup_fclose_ _cleanup_(fclosep)
#define _cleanup_closedir_ _cleanup_(closedirp)

/* Structs of callers compiled against a version with fewer or more members: copies a struct of
 * from_size bytes to one of `size`; members that the source lacks become zero. Returns 0, or
 * -EINVAL if the source is shorter than `min`, or sets members that are unknown here.
 * Async-signal-safe. */
static inline int sized_struct_read(void *to, size_t size, const void *from, size_t from_size,
				    size_t min)
{
	const char *bytes = from;

	if (from_size < min)
		return -EINVAL;
	for (size_t i = size; i < from_size; i++) {
		if (bytes[i])
			return -EINVAL;
	}
	memset(to, 0, size);
	memcpy(to, from, from_size < size ? from_size : size);
	return 0;
}

#endif
