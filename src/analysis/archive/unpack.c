// SPDX-License-Identifier: GPL-2.0-only
#include "archive/archive.h"

#include <archive.h>
#include <archive_entry.h>
#include <limits.h>
#include <regex.h>
#include <stdbool.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <zstd.h>

#include "text.h"
#include "units.h"

/* What a single block of zstd may become. */
#define BLOCK_SIZE (128 << 10)
/* What there may be besides the files' data: headers, and what fills up blocks. */
#define REST_SIZE (UINT64_C(1) << 20)
#define REST_SIZE_OF_ENTRY (UINT64_C(8) << 10)
/* Defence in depth: no accepted name follows links, leaves the folder or replaces a file. */
#define DISK_FLAGS                                                                                 \
	(ARCHIVE_EXTRACT_SECURE_SYMLINKS | ARCHIVE_EXTRACT_SECURE_NODOTDOT |                       \
	 ARCHIVE_EXTRACT_SECURE_NOABSOLUTEPATHS | ARCHIVE_EXTRACT_NO_OVERWRITE |                   \
	 ARCHIVE_EXTRACT_SPARSE | ARCHIVE_EXTRACT_TIME)

#define D "[0123456789]"
#define LETTER "[abcdefghijklmnopqrstuvwxyz]"
#define X "[0123456789abcdef]"
/* perf's path of a file by its build id. */
#define TRACED "buildid/\\.build-id/" X "{2}/" X "{2,38}"

static bool matches_pattern(const char *text, const char *pattern)
{
	regex_t regex;
	bool found;

	if (regcomp(&regex, pattern, REG_EXTENDED | REG_NOSUB))
		return false;
	found = !regexec(&regex, text, 0, NULL, 0);
	regfree(&regex);
	return found;
}

/* Of any kind of latency: newer versions have more. */
bool layout_is_capture_name(const char *name)
{
	return matches_pattern(name, "^(" LAYOUT_ANY_NAME "|" D "{8}-" D "{6}\\." D "{3}-"
				     "(poke|cpu" D "{1,5}-(" LETTER "{1,20}-)?" D "{1,20}us)"
				     "(-" D "{1,4})?)$");
}

bool layout_has_path(const char *path, mode_t mode)
{
	if (S_ISDIR(mode))
		return matches_pattern(path, "^(perf\\.data(/kcore_dir)?|buildid(/\\.build-id(/" X
					     "{2})?)?|" TRACED ")$");
	return S_ISREG(mode) &&
	       matches_pattern(path, "^((capture|host)\\.json|trace\\.dat|ring\\.cpu" D "{1,5}|"
				     "perf\\.data/(data|kcore_dir/(kallsyms|modules|kcore))|" TRACED
				     "/(elf|debug|vdso))$");
}

bool layout_selftest_has_path(const char *path, mode_t mode)
{
	size_t length = strcspn(path, "/");
	char name[NAME_MAX + 1];

	if (S_ISREG(mode) && matches_pattern(path, "^(selftest\\.json|messages|host\\.json)$"))
		return true;
	if (length > NAME_MAX)
		return false;
	*(char *)mempcpy(name, path, length) = '\0';
	return layout_is_capture_name(name) &&
	       (path[length] ? layout_has_path(path + length + 1, mode) : S_ISDIR(mode));
}

struct unpacking {
	const struct unpack_source *source;
	struct unpack_limits limits;
	struct archive *reader;
	struct archive *disk;
	struct archive_entry *clean; /* the sanitised entry */
	int dirfd;
	size_t entries;
	uint64_t size;	   /* of files, by their headers */
	uint64_t unpacked; /* of the stream */
	char *top;
	bool (*has)(const char *path, mode_t mode);
	int error; /* of the stream, as opposed to a malformed archive */
	char **why;
	ZSTD_DCtx *zstd;
	ZSTD_inBuffer packed; /* refers to `read`, or to the source's data */
	bool is_packed, is_begun;
	size_t missing; /* of a frame of zstd: 0 at its end */
	char read[BLOCK_SIZE], block[BLOCK_SIZE];
};

static int refuse_entry(struct unpacking *u, const char *name, const char *what)
{
	return say_why(u->why, -EINVAL, "'%.*s': %s", NAME_MAX, name, what);
}

static int refuse_unpacked_size(struct unpacking *u)
{
	return say_why(u->why, -EFBIG, "more than %s when unpacked (--max-size allows more)",
		       FORMAT_SIZE(u->limits.max_size));
}

/* The first entry determines the top folder. */
static int check_top_folder(struct unpacking *u, const char *name, size_t length)
{
	if (!u->top) {
		u->top = strndup(name, length);
		if (!u->top)
			return -ENOMEM;
		if (!strcmp(u->top, LAYOUT_SELFTEST))
			u->has = layout_selftest_has_path;
		else if (!u->source->any_top && !layout_is_capture_name(u->top))
			return refuse_entry(u, u->top, "not the name of a capture (use --output)");
	}
	if (strlen(u->top) != length || strncmp(u->top, name, length))
		return refuse_entry(u, name, "outside the archive's first folder");
	return 0;
}

/* Allocates the path below the top folder; "" for that folder itself. */
static int copy_path_in_top(struct unpacking *u, const char *name, char **rest)
{
	size_t top, length;
	int err;

	if (!name)
		return say_why(u->why, -EINVAL, "a name in an unknown charset");
	top = strcspn(name, "/");
	err = check_top_folder(u, name, top);
	if (err)
		return err;
	name += top + (name[top] == '/');
	length = strlen(name);
	/* In tar, names of folders end with a slash. */
	if (length && name[length - 1] == '/')
		length--;
	*rest = strndup(name, length);
	return *rest ? 0 : -ENOMEM;
}

static const char *archive_entry_name(struct archive_entry *entry)
{
	return archive_entry_pathname_utf8(entry) ?: archive_entry_pathname(entry);
}

static bool is_unpacked_already(const struct unpacking *u, const char *name)
{
	return !faccessat(u->dirfd, name, F_OK, AT_SYMLINK_NOFOLLOW);
}

/* The target of a hard link must have been unpacked before. */
static int set_clean_link(struct unpacking *u, struct archive_entry *entry, const char *name)
{
	_cleanup_free_ char *target = NULL;
	const char *link = archive_entry_hardlink_utf8(entry) ?: archive_entry_hardlink(entry);
	int err = copy_path_in_top(u, link, &target);

	if (err)
		return err;
	if (!u->has(target, S_IFREG) || !is_unpacked_already(u, target))
		return refuse_entry(u, name, "a hard link to a file that is not in the archive");
	archive_entry_set_hardlink(u->clean, target);
	return 0;
}

static int set_clean_size(struct unpacking *u, struct archive_entry *entry, const char *name)
{
	int64_t size = archive_entry_size(entry);

	if (!archive_entry_size_is_set(entry) || size < 0)
		return refuse_entry(u, name, "no size");
	if ((uint64_t)size > u->limits.max_size - u->size)
		return refuse_unpacked_size(u);
	u->size += (uint64_t)size;
	archive_entry_set_size(u->clean, size);
	return 0;
}

/* Copies only what a capture needs: no owner, attributes or execute permission. */
static int make_clean_entry(struct unpacking *u, struct archive_entry *entry, const char *name,
			    bool is_folder)
{
	int err = 0;

	archive_entry_clear(u->clean);
	archive_entry_set_pathname(u->clean, name);
	archive_entry_set_filetype(u->clean, is_folder ? AE_IFDIR : AE_IFREG);
	archive_entry_set_perm(u->clean, is_folder ? 0700 : 0600);
	if (archive_entry_mtime_is_set(entry))
		archive_entry_set_mtime(u->clean, archive_entry_mtime(entry),
					archive_entry_mtime_nsec(entry));
	if (archive_entry_hardlink(entry) || archive_entry_hardlink_utf8(entry))
		err = set_clean_link(u, entry, name);
	else if (!is_folder)
		err = set_clean_size(u, entry, name);
	return err;
}

static int explain_archive(struct unpacking *u, struct archive *archive)
{
	if (archive == u->reader && u->error)
		return u->error;
	int error = archive_errno(archive);
	const char *text = archive_error_string(archive) ?: "malformed archive";

	/* Errors of the disk come with an errno, errors of the archive with a text only. */
	if (archive == u->disk && error > 0)
		return say_why(u->why, -error, "%s: %s", text, strerror(error));
	return say_why(u->why, -EINVAL, "%s", text);
}

/* There may be holes between blocks, but no data beyond the size in the header. */
static int write_unpacked_data(struct unpacking *u)
{
	const int64_t size = archive_entry_size(u->clean);
	int err;

	for (;;) {
		const void *block;
		int64_t offset;
		size_t length;

		err = archive_read_data_block(u->reader, &block, &length, &offset);
		if (err == ARCHIVE_EOF)
			return 0;
		if (err < ARCHIVE_OK)
			return explain_archive(u, u->reader);
		if (offset < 0 || offset > size || length > (uint64_t)(size - offset))
			return refuse_entry(u, archive_entry_pathname(u->clean),
					    "data beyond its size");
		if (archive_write_data_block(u->disk, block, length, offset) < ARCHIVE_OK)
			return explain_archive(u, u->disk);
	}
}

static int unpack_next_entry(struct unpacking *u, struct archive_entry *entry)
{
	bool is_link = archive_entry_hardlink(entry) || archive_entry_hardlink_utf8(entry);
	mode_t type = is_link ? S_IFREG : archive_entry_filetype(entry);
	_cleanup_free_ char *name = NULL;
	int err;

	if (++u->entries > u->limits.max_entries)
		return say_why(u->why, -EFBIG, "more than %zu files and folders",
			       u->limits.max_entries);
	err = copy_path_in_top(u, archive_entry_name(entry), &name);
	if (err)
		return err;
	/* The top folder exists already. */
	if (!*name && S_ISDIR(type))
		return 0;
	if (!u->has(name, type))
		return refuse_entry(u, archive_entry_name(entry), "not part of a capture");
	if (is_unpacked_already(u, name))
		return refuse_entry(u, archive_entry_name(entry), "duplicate name");
	err = make_clean_entry(u, entry, name, S_ISDIR(type));
	if (err)
		return err;
	if (archive_write_header(u->disk, u->clean) < ARCHIVE_OK)
		return explain_archive(u, u->disk);
	if (!is_link && S_ISREG(type))
		err = write_unpacked_data(u);
	if (!err && archive_write_finish_entry(u->disk) < ARCHIVE_OK)
		err = explain_archive(u, u->disk);
	return err;
}

static int unpack_all_entries(struct unpacking *u)
{
	struct archive_entry *entry;
	int err;

	for (;;) {
		err = archive_read_next_header(u->reader, &entry);
		if (err == ARCHIVE_EOF)
			break;
		/* Warnings concern attributes that are dropped, or names, which are then NULL. */
		if (err != ARCHIVE_OK && err != ARCHIVE_WARN)
			return explain_archive(u, u->reader);
		err = unpack_next_entry(u, entry);
		if (err)
			return err;
	}
	if (!u->top)
		return say_why(u->why, -EINVAL, "empty archive");
	/* Sets the times of folders. */
	if (archive_write_close(u->disk) < ARCHIVE_OK)
		return explain_archive(u, u->disk);
	return 0;
}

/* Has the next packed bytes, at least `nr` of them, in `packed`, unless the input ends before. */
static int fetch_packed_bytes(struct unpacking *u, size_t nr)
{
	const struct unpack_source *source = u->source;
	size_t left = u->packed.size - u->packed.pos;

	if (source->data || left >= nr)
		return 0;
	memmove(u->read, u->read + u->packed.pos, left);
	u->packed = (ZSTD_inBuffer){ u->read, left, 0 };
	while (u->packed.size < nr) {
		ssize_t n = read(source->fd, u->read + u->packed.size,
				 sizeof(u->read) - u->packed.size);

		/* Also by a signal that is ignored, in QEMU's user mode. */
		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return -errno;
		if (!n)
			break;
		u->packed.size += (size_t)n;
	}
	return 0;
}

/* Also of a skippable frame. */
static int find_stream_format(struct unpacking *u)
{
	uint32_t magic = 0;
	int err;

	if (u->source->data)
		u->packed = (ZSTD_inBuffer){ u->source->data, u->source->size, 0 };
	err = fetch_packed_bytes(u, sizeof(magic));
	if (err)
		return err;
	if (u->packed.size >= sizeof(magic))
		memcpy(&magic, u->packed.src, sizeof(magic));
	magic = le32toh(magic);
	u->is_packed = magic == ZSTD_MAGICNUMBER ||
		       (magic & ZSTD_MAGIC_SKIPPABLE_MASK) == ZSTD_MAGIC_SKIPPABLE_START;
	u->is_begun = true;
	return 0;
}

/* Also verifies the checksum. Sets *size to 0 at the end. */
static int decompress_block(struct unpacking *u, size_t *size)
{
	ZSTD_outBuffer out = { u->block, sizeof(u->block), 0 };

	while (!out.pos) {
		int err = fetch_packed_bytes(u, 1);
		bool is_end = u->packed.pos == u->packed.size;

		if (err)
			return err;
		if (is_end && !u->missing)
			break;
		u->missing = ZSTD_decompressStream(u->zstd, &out, &u->packed);
		if (ZSTD_isError(u->missing))
			return say_why(u->why, -EINVAL, "damaged: %s",
				       ZSTD_getErrorName(u->missing));
		if (is_end && !out.pos)
			return say_why(u->why, -EINVAL, "truncated");
	}
	*size = out.pos;
	return 0;
}

/* All that is unpacked counts, also what libarchive skips: it may be behind the end of the archive,
 * and a thousand times as large as the file. */
static int read_archive_stream(struct unpacking *u, const void **block, size_t *size)
{
	const uint64_t max = u->limits.max_size + REST_SIZE + u->entries * REST_SIZE_OF_ENTRY;
	int err = u->is_begun ? 0 : find_stream_format(u);

	*block = u->block;
	if (!err && u->is_packed)
		err = decompress_block(u, size);
	else if (!err)
		err = fetch_packed_bytes(u, 1);
	if (err)
		return err;
	if (!u->is_packed) {
		*block = (const char *)u->packed.src + u->packed.pos;
		*size = u->packed.size - u->packed.pos;
		u->packed.pos = u->packed.size;
	}
	u->unpacked += *size;
	if (u->unpacked > max)
		return refuse_unpacked_size(u);
	return u->source->progress ? u->source->progress(u->source->ctx, *size) : 0;
}

static la_ssize_t read_archive_block(struct archive *archive, void *ctx, const void **block)
{
	struct unpacking *u = ctx;
	size_t size = 0;

	u->error = read_archive_stream(u, block, &size);
	if (!u->error)
		return (la_ssize_t)size;
	archive_set_error(archive, -u->error, "%s", strerror(-u->error));
	return -1;
}

static int open_archive_source(struct unpacking *u)
{
	if (!u->reader || !u->disk || !u->clean || !u->zstd)
		return -ENOMEM;
	if (archive_read_support_format_tar(u->reader) < ARCHIVE_OK)
		return explain_archive(u, u->reader);
	/* Read to the end of the input, where the checksum is, not to that of the archive. */
	if (archive_read_set_format_option(u->reader, "tar", "read_concatenated_archives", "1") <
	    ARCHIVE_OK)
		return explain_archive(u, u->reader);
	archive_write_disk_set_options(u->disk, DISK_FLAGS);
	return archive_read_open(u->reader, u, NULL, read_archive_block, NULL) < ARCHIVE_OK
		       ? explain_archive(u, u->reader)
		       : 0;
}

static uint64_t default_unpacked_max(int dirfd)
{
	struct statvfs fs;
	uint64_t half;

	if (fstatvfs(dirfd, &fs))
		return CAPTURE_MAX_SIZE;
	half = (uint64_t)fs.f_bavail * fs.f_frsize / 2;
	return half < CAPTURE_MAX_SIZE ? half : CAPTURE_MAX_SIZE;
}

int unpack_archive(const struct unpack_source *source, int dirfd,
		   const struct unpack_limits *limits, char **top, char **why)
{
	_cleanup_close_ int before = open(".", O_PATH | O_DIRECTORY | O_CLOEXEC);
	struct unpacking u = {
		.source = source,
		.limits = *limits,
		.reader = archive_read_new(),
		.disk = archive_write_disk_new(),
		.clean = archive_entry_new(),
		.zstd = ZSTD_createDCtx(),
		.dirfd = dirfd,
		.has = layout_has_path,
		.why = why,
	};
	int err;

	if (!u.limits.max_size)
		u.limits.max_size = default_unpacked_max(dirfd);
	err = before < 0 || fchdir(dirfd) ? -errno : 0;
	if (!err)
		err = open_archive_source(&u);
	if (!err)
		err = unpack_all_entries(&u);
	/* May write to the working directory: free before changing it back. */
	archive_write_free(u.disk);
	archive_read_free(u.reader);
	archive_entry_free(u.clean);
	ZSTD_freeDCtx(u.zstd);
	if (before >= 0 && fchdir(before) && !err)
		err = -errno;
	if (!err)
		*top = TAKE_PTR(u.top);
	free(u.top);
	return err;
}

static int hold_while_unpacking(void *ctx, uint64_t bytes)
{
	const struct analysis_hooks *hooks = ctx;

	if (hooks->hold)
		hooks->hold();
	return 0;
}

int unpack_temporary(struct temporary *folder, int fd, const struct analysis_hooks *hooks,
		     char **why)
{
	const struct unpack_source source = {
		.fd = fd,
		.any_top = true,
		.progress = hold_while_unpacking,
		.ctx = (void *)hooks,
	};
	const struct unpack_limits limits = {
		.max_size = hooks->max_size,
		.max_entries = UNPACK_ENTRIES_MAX,
	};
	_cleanup_free_ char *beside = strfmt("%s/perf-poke", getenv("TMPDIR") ?: "/tmp");
	_cleanup_free_ char *top = NULL;
	int err;

	*folder = temporary_none;
	err = beside ? temporary_folder_new(folder, beside) : -ENOMEM;
	return err ?: unpack_archive(&source, folder->fd, &limits, &top, why);
}
