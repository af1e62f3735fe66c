// SPDX-License-Identifier: GPL-2.0-only
#include "bundle/bundle.h"

#include <archive.h>
#include <archive_entry.h>
#include <limits.h>
#include <poll.h>
#include <stdbool.h>
#include <string.h>
#include <sys/stat.h>

#include "capture/layout.h"
#include "cli/cli.h"
#include "units.h"

#define BLOCK_SIZE (128 << 10)
/* Defence in depth: no accepted name follows links, leaves the folder or replaces a file. */
#define DISK_FLAGS                                                                                 \
	(ARCHIVE_EXTRACT_SECURE_SYMLINKS | ARCHIVE_EXTRACT_SECURE_NODOTDOT |                       \
	 ARCHIVE_EXTRACT_SECURE_NOABSOLUTEPATHS | ARCHIVE_EXTRACT_NO_OVERWRITE |                   \
	 ARCHIVE_EXTRACT_SPARSE | ARCHIVE_EXTRACT_TIME)

struct unpacking {
	const struct unpack_source *source;
	const struct unpack_limits *limits;
	struct archive *reader;
	struct archive *disk;
	struct archive_entry *clean; /* the sanitised entry */
	int dirfd;
	size_t entries;
	uint64_t size;
	char *top;
	bool (*has)(const char *path, mode_t mode);
	int error; /* of read(), as opposed to a malformed archive */
	char **why;
	char block[BLOCK_SIZE];
};

static int refuse(struct unpacking *u, const char *name, const char *what)
{
	return options_explain(u->why, -EINVAL, "'%.*s': %s", NAME_MAX, name, what);
}

/* The first entry determines the top folder. */
static int take_top(struct unpacking *u, const char *name, size_t length)
{
	if (!u->top) {
		u->top = strndup(name, length);
		if (!u->top)
			return -ENOMEM;
		if (!strcmp(u->top, LAYOUT_SELFTEST))
			u->has = layout_selftest_has;
		else if (!u->source->any_top && !layout_is_name(u->top))
			return refuse(u, u->top, "not the name of a capture (use --output)");
	}
	if (strlen(u->top) != length || strncmp(u->top, name, length))
		return refuse(u, name, "outside the archive's first folder");
	return 0;
}

/* Allocates the path below the top folder; "" for that folder itself. */
static int copy_rest(struct unpacking *u, const char *name, char **rest)
{
	size_t top, length;
	int r;

	if (!name)
		return options_explain(u->why, -EINVAL, "a name in an unknown charset");
	top = strcspn(name, "/");
	r = take_top(u, name, top);
	if (r)
		return r;
	name += top + (name[top] == '/');
	length = strlen(name);
	/* In tar, names of folders end with a slash. */
	if (length && name[length - 1] == '/')
		length--;
	*rest = strndup(name, length);
	return *rest ? 0 : -ENOMEM;
}

static const char *entry_name(struct archive_entry *entry)
{
	return archive_entry_pathname_utf8(entry) ?: archive_entry_pathname(entry);
}

static const char *entry_link(struct archive_entry *entry)
{
	return archive_entry_hardlink_utf8(entry) ?: archive_entry_hardlink(entry);
}

static bool is_there(const struct unpacking *u, const char *name)
{
	return !faccessat(u->dirfd, name, F_OK, AT_SYMLINK_NOFOLLOW);
}

/* The target of a hard link must have been unpacked before. */
static int set_link(struct unpacking *u, struct archive_entry *entry, const char *name)
{
	_cleanup_free_ char *target = NULL;
	int r = copy_rest(u, entry_link(entry), &target);

	if (r)
		return r;
	if (!u->has(target, S_IFREG) || !is_there(u, target))
		return refuse(u, name, "a hard link to a file that is not in the archive");
	archive_entry_set_hardlink(u->clean, target);
	return 0;
}

static int set_size(struct unpacking *u, struct archive_entry *entry, const char *name)
{
	int64_t size = archive_entry_size(entry);

	if (!archive_entry_size_is_set(entry) || size < 0)
		return refuse(u, name, "no size");
	if ((uint64_t)size > u->limits->max_size - u->size)
		return options_explain(u->why, -EFBIG,
				       "more than %s when unpacked (--max-size allows more)",
				       FORMAT_SIZE(u->limits->max_size));
	u->size += (uint64_t)size;
	archive_entry_set_size(u->clean, size);
	return 0;
}

/* Copies only what a capture needs: no owner, attributes or execute permission. */
static int make_clean(struct unpacking *u, struct archive_entry *entry, const char *name,
		      bool is_folder)
{
	int r = 0;

	archive_entry_clear(u->clean);
	archive_entry_set_pathname(u->clean, name);
	archive_entry_set_filetype(u->clean, is_folder ? AE_IFDIR : AE_IFREG);
	archive_entry_set_perm(u->clean, is_folder ? 0700 : 0600);
	if (archive_entry_mtime_is_set(entry))
		archive_entry_set_mtime(u->clean, archive_entry_mtime(entry),
					archive_entry_mtime_nsec(entry));
	if (archive_entry_hardlink(entry) || archive_entry_hardlink_utf8(entry))
		r = set_link(u, entry, name);
	else if (!is_folder)
		r = set_size(u, entry, name);
	return r;
}

static int explain_archive(struct unpacking *u, struct archive *archive)
{
	if (archive == u->reader && u->error)
		return u->error;
	int error = archive_errno(archive);
	const char *text = archive_error_string(archive) ?: "malformed archive";

	/* Errors of the disk come with an errno, errors of the archive with a text only. */
	if (archive == u->disk && error > 0)
		return options_explain(u->why, -error, "%s: %s", text, strerror(error));
	return options_explain(u->why, -EINVAL, "%s", text);
}

/* There may be holes between blocks, but no data beyond the size in the header. */
static int write_data(struct unpacking *u)
{
	const int64_t size = archive_entry_size(u->clean);
	int r;

	for (;;) {
		const void *block;
		int64_t offset;
		size_t length;

		r = archive_read_data_block(u->reader, &block, &length, &offset);
		if (r == ARCHIVE_EOF)
			return 0;
		if (r < ARCHIVE_OK)
			return explain_archive(u, u->reader);
		if (offset < 0 || offset > size || length > (uint64_t)(size - offset))
			return refuse(u, archive_entry_pathname(u->clean), "data beyond its size");
		if (archive_write_data_block(u->disk, block, length, offset) < ARCHIVE_OK)
			return explain_archive(u, u->disk);
		r = u->source->progress ? u->source->progress(u->source->ctx, length) : 0;
		if (r)
			return r;
	}
}

static int write_entry(struct unpacking *u, bool has_data)
{
	int r = 0;

	if (archive_write_header(u->disk, u->clean) < ARCHIVE_OK)
		return explain_archive(u, u->disk);
	if (has_data)
		r = write_data(u);
	if (!r && archive_write_finish_entry(u->disk) < ARCHIVE_OK)
		r = explain_archive(u, u->disk);
	return r;
}

static int take_entry(struct unpacking *u, struct archive_entry *entry)
{
	bool is_link = archive_entry_hardlink(entry) || archive_entry_hardlink_utf8(entry);
	mode_t type = is_link ? S_IFREG : archive_entry_filetype(entry);
	_cleanup_free_ char *name = NULL;
	int r;

	if (++u->entries > u->limits->max_entries)
		return options_explain(u->why, -EFBIG, "more than %zu files and folders",
				       u->limits->max_entries);
	r = copy_rest(u, entry_name(entry), &name);
	if (r)
		return r;
	/* The top folder exists already. */
	if (!*name && S_ISDIR(type))
		return 0;
	if (!u->has(name, type))
		return refuse(u, entry_name(entry), "not part of a capture");
	if (is_there(u, name))
		return refuse(u, entry_name(entry), "duplicate name");
	r = make_clean(u, entry, name, S_ISDIR(type));
	return r ? r : write_entry(u, !is_link && S_ISREG(type));
}

static int take_all(struct unpacking *u)
{
	struct archive_entry *entry;
	int r;

	for (;;) {
		r = archive_read_next_header(u->reader, &entry);
		if (r == ARCHIVE_EOF)
			break;
		/* Warnings concern attributes that are dropped, or names, which are then NULL. */
		if (r != ARCHIVE_OK && r != ARCHIVE_WARN)
			return explain_archive(u, u->reader);
		r = take_entry(u, entry);
		if (r)
			return r;
	}
	if (!u->top)
		return options_explain(u->why, -EINVAL, "empty archive");
	/* Sets the times of folders. */
	if (archive_write_close(u->disk) < ARCHIVE_OK)
		return explain_archive(u, u->disk);
	return 0;
}

/* libarchive's own read callback would block on a pipe regardless of signals. */
static la_ssize_t read_block(struct archive *archive, void *ctx, const void **block)
{
	struct unpacking *u = ctx;
	const struct unpack_source *source = u->source;
	ssize_t size = 0;

	u->error = source->wait ? source->wait(source->ctx, source->fd, POLLIN) : 0;
	if (!u->error) {
		size = read(source->fd, u->block, sizeof(u->block));
		u->error = size < 0 ? -errno : 0;
	}
	*block = u->block;
	if (u->error)
		archive_set_error(archive, -u->error, "%s", strerror(-u->error));
	return u->error ? -1 : size;
}

static int open_source(struct unpacking *u)
{
	const struct unpack_source *source = u->source;
	int r;

	if (!u->reader || !u->disk || !u->clean)
		return -ENOMEM;
	if (archive_read_support_format_tar(u->reader) < ARCHIVE_OK ||
	    archive_read_support_filter_zstd(u->reader) < ARCHIVE_OK)
		return options_explain(u->why, -EOPNOTSUPP, "libarchive was built without zstd");
	/* Read to the end of the input, where the checksum is, not to that of the archive. */
	if (archive_read_set_format_option(u->reader, "tar", "read_concatenated_archives", "1") <
	    ARCHIVE_OK)
		return explain_archive(u, u->reader);
	archive_write_disk_set_options(u->disk, DISK_FLAGS);
	if (source->data)
		r = archive_read_open_memory(u->reader, source->data, source->size);
	else
		r = archive_read_open(u->reader, u, NULL, read_block, NULL);
	return r < ARCHIVE_OK ? explain_archive(u, u->reader) : 0;
}

int unpack(const struct unpack_source *source, int dirfd, const struct unpack_limits *limits,
	   char **top, char **why)
{
	_cleanup_close_ int before = open(".", O_PATH | O_DIRECTORY | O_CLOEXEC);
	struct unpacking u = {
		.source = source,
		.limits = limits,
		.reader = archive_read_new(),
		.disk = archive_write_disk_new(),
		.clean = archive_entry_new(),
		.dirfd = dirfd,
		.has = layout_has,
		.why = why,
	};
	int r;

	r = before < 0 || fchdir(dirfd) ? -errno : 0;
	if (!r)
		r = open_source(&u);
	if (!r)
		r = take_all(&u);
	/* May write to the working directory: free before changing it back. */
	archive_write_free(u.disk);
	archive_read_free(u.reader);
	archive_entry_free(u.clean);
	if (before >= 0 && fchdir(before) && !r)
		r = -errno;
	if (!r)
		*top = TAKE_PTR(u.top);
	free(u.top);
	return r;
}
