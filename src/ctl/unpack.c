// SPDX-License-Identifier: GPL-2.0-only
#include "unpack.h"

#include <archive.h>
#include <archive_entry.h>
#include <limits.h>
#include <search.h>
#include <stdbool.h>
#include <string.h>
#include <sys/stat.h>

#include "options.h"
#include "units.h"

#define BLOCK_SIZE (128 << 10)
#define MAX_DEPTH 16
/* Links are not followed, names stay in the folder, and what is there is not replaced: all this is
 * checked before, too. */
#define DISK_FLAGS                                                                                 \
	(ARCHIVE_EXTRACT_SECURE_SYMLINKS | ARCHIVE_EXTRACT_SECURE_NODOTDOT |                       \
	 ARCHIVE_EXTRACT_SECURE_NOABSOLUTEPATHS | ARCHIVE_EXTRACT_NO_OVERWRITE |                   \
	 ARCHIVE_EXTRACT_SPARSE | ARCHIVE_EXTRACT_TIME)

/* A name that was unpacked. */
struct seen {
	bool is_folder;
	char name[];
};

struct unpacking {
	const struct unpack_source *source;
	const struct unpack_limits *limits;
	struct archive *reader;
	struct archive *disk;
	struct archive_entry *clean; /* what is made of an entry */
	void *seen;		     /* tree of struct seen */
	size_t entries;
	uint64_t size;
	char *top;
	char **why;
};

static int compare_seen(const void *a, const void *b)
{
	return strcmp(((const struct seen *)a)->name, ((const struct seen *)b)->name);
}

static struct seen *new_seen(const char *name, size_t length, bool is_folder)
{
	struct seen *seen = malloc(sizeof(*seen) + length + 1);

	if (seen) {
		seen->is_folder = is_folder;
		memcpy(seen->name, name, length);
		seen->name[length] = '\0';
	}
	return seen;
}

/* -ENOENT if it was not unpacked. */
static int look_up(const struct unpacking *u, const char *name, size_t length, bool *is_folder)
{
	_cleanup_free_ struct seen *wanted = new_seen(name, length, false);
	struct seen **found;

	if (!wanted)
		return -ENOMEM;
	found = tfind(wanted, &u->seen, compare_seen);
	if (!found)
		return -ENOENT;
	*is_folder = (*found)->is_folder;
	return 0;
}

static int refuse(struct unpacking *u, const char *name, const char *what)
{
	return options_explain(u->why, -EINVAL, "'%.*s': %s", NAME_MAX, name, what);
}

static const char *find_fault(const char *name)
{
	size_t depth = 0, length;

	if (*name == '/')
		return "a name from the root on";
	if (strlen(name) >= PATH_MAX)
		return "a name that is too long";
	for (const char *c = name; *c; c++) {
		/* Those of Unicode, U+0080 to U+009f, too: terminals obey them. */
		if ((unsigned char)*c < ' ' || *c == '\177' ||
		    (*c == '\302' && (unsigned char)c[1] >= 0x80 && (unsigned char)c[1] < 0xa0))
			return "a name with a control character";
	}
	for (;; name += length + 1) {
		length = strcspn(name, "/");
		if (!length)
			return "a name with an empty part";
		if (length > NAME_MAX)
			return "a name that is too long";
		if (!strncmp(name, ".", length) || !strncmp(name, "..", length))
			return "a name with a part '.' or '..'";
		if (++depth > MAX_DEPTH)
			return "too many folders in each other";
		if (!name[length])
			return NULL;
	}
}

/* *name becomes the part behind the one folder that all is in; "" for that itself. */
static int strip_top(struct unpacking *u, const char **name)
{
	size_t length = strcspn(*name, "/");

	if (!u->top) {
		u->top = strndup(*name, length);
		if (!u->top)
			return -ENOMEM;
	}
	if (strlen(u->top) != length || strncmp(u->top, *name, length))
		return refuse(u, *name, "not in the folder that the archive begins with");
	*name += length + ((*name)[length] == '/');
	return 0;
}

/* Tar has folders with a slash behind their names. */
static int copy_name(struct unpacking *u, const char *from, bool is_folder, char **name)
{
	const char *fault;
	size_t length;

	if (!from)
		return options_explain(u->why, -EINVAL, "a name that is not text");
	length = strlen(from);
	if (is_folder && length > 1 && from[length - 1] == '/')
		length--;
	*name = strndup(from, length);
	if (!*name)
		return -ENOMEM;
	fault = find_fault(*name);
	return fault ? refuse(u, *name, fault) : 0;
}

static const char *entry_name(struct archive_entry *entry)
{
	return archive_entry_pathname_utf8(entry) ?: archive_entry_pathname(entry);
}

static const char *entry_link(struct archive_entry *entry)
{
	return archive_entry_hardlink_utf8(entry) ?: archive_entry_hardlink(entry);
}

static const char *kind_of(mode_t type)
{
	switch (type) {
	case AE_IFLNK:
		return "a symbolic link";
	case AE_IFCHR:
	case AE_IFBLK:
		return "a device";
	case AE_IFIFO:
		return "a pipe";
	case AE_IFSOCK:
		return "a socket";
	default:
		return "of an unknown kind";
	}
}

static int check_place(struct unpacking *u, const char *name)
{
	const char *slash = strrchr(name, '/');
	bool is_folder = true;
	int r = 0;

	if (slash)
		r = look_up(u, name, (size_t)(slash - name), &is_folder);
	if (r == -ENOENT || !is_folder)
		return refuse(u, name, "its folder did not come before it");
	return r;
}

static int remember(struct unpacking *u, const char *name, bool is_folder)
{
	_cleanup_free_ struct seen *seen = new_seen(name, strlen(name), is_folder);
	struct seen **found = seen ? tsearch(seen, &u->seen, compare_seen) : NULL;

	if (!found)
		return -ENOMEM;
	if (*found != seen)
		return refuse(u, name, "there twice");
	TAKE_PTR(seen);
	return 0;
}

/* A hard link leads to a file of the archive that has come already. */
static int set_link(struct unpacking *u, struct archive_entry *entry, const char *name)
{
	_cleanup_free_ char *target = NULL;
	const char *rest;
	bool is_folder;
	int r = copy_name(u, entry_link(entry), false, &target);

	rest = target;
	if (!r)
		r = strip_top(u, &rest);
	if (r)
		return r;
	r = look_up(u, rest, strlen(rest), &is_folder);
	if (r == -ENOENT || (!r && is_folder))
		return refuse(u, name, "a hard link to no file of the archive");
	archive_entry_set_hardlink(u->clean, rest);
	return r;
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

/* Only what a capture needs is taken over: no owner, no attributes, nothing that can be run. */
static int make_clean(struct unpacking *u, struct archive_entry *entry, const char *name,
		      bool is_folder)
{
	mode_t mode = archive_entry_perm(entry) & 0755;
	int r = 0;

	archive_entry_clear(u->clean);
	archive_entry_set_pathname(u->clean, name);
	archive_entry_set_filetype(u->clean, is_folder ? AE_IFDIR : AE_IFREG);
	archive_entry_set_perm(u->clean, is_folder ? mode | 0700 : (mode & 0644) | 0600);
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
	int error = archive_errno(archive);
	const char *text = archive_error_string(archive) ?: "it is damaged";

	/* What is wrong with an archive is said in words, of the disk there is a number. */
	if (archive == u->disk && error > 0)
		return options_explain(u->why, -error, "%s: %s", text, strerror(error));
	return options_explain(u->why, -EINVAL, "%s", text);
}

/* Blocks may come with holes between them, but not behind the end that was announced. */
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
			return refuse(u, archive_entry_pathname(u->clean), "more than its size");
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
	bool is_folder = !is_link && archive_entry_filetype(entry) == AE_IFDIR;
	_cleanup_free_ char *full = NULL;
	const char *name;
	int r;

	if (++u->entries > u->limits->max_entries)
		return options_explain(u->why, -EFBIG, "more than %zu files and folders",
				       u->limits->max_entries);
	r = copy_name(u, entry_name(entry), is_folder, &full);
	if (r)
		return r;
	name = full;
	if (!is_link && !is_folder && archive_entry_filetype(entry) != AE_IFREG)
		return refuse(u, name, kind_of(archive_entry_filetype(entry)));
	r = strip_top(u, &name);
	if (!r && !*name && !is_folder)
		r = refuse(u, full, "a file where the folder of all should be");
	if (!r)
		r = check_place(u, name);
	if (!r)
		r = make_clean(u, entry, name, is_folder);
	/* Not before: a link leads to what came earlier. */
	if (!r)
		r = remember(u, name, is_folder);
	/* The folder of all is there already. */
	if (r || !*name)
		return r;
	return write_entry(u, !is_link && !is_folder);
}

static int take_all(struct unpacking *u)
{
	struct archive_entry *entry;
	int r;

	for (;;) {
		r = archive_read_next_header(u->reader, &entry);
		if (r == ARCHIVE_EOF)
			break;
		/* A warning is of what is not taken over, or of a name, which is missing then. */
		if (r != ARCHIVE_OK && r != ARCHIVE_WARN)
			return explain_archive(u, u->reader);
		r = take_entry(u, entry);
		if (r)
			return r;
	}
	if (!u->top)
		return options_explain(u->why, -EINVAL, "it is empty");
	/* The times of folders are set then. */
	if (archive_write_close(u->disk) < ARCHIVE_OK)
		return explain_archive(u, u->disk);
	return 0;
}

static int open_source(struct unpacking *u)
{
	const struct unpack_source *source = u->source;
	int r;

	if (!u->reader || !u->disk || !u->clean)
		return -ENOMEM;
	if (archive_read_support_format_tar(u->reader) < ARCHIVE_OK ||
	    archive_read_support_filter_zstd(u->reader) < ARCHIVE_OK)
		return options_explain(u->why, -EOPNOTSUPP,
				       "this libarchive was built without zstd");
	archive_write_disk_set_options(u->disk, DISK_FLAGS);
	if (source->data)
		r = archive_read_open_memory(u->reader, source->data, source->size);
	else
		r = archive_read_open_fd(u->reader, source->fd, BLOCK_SIZE);
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
		.why = why,
	};
	int r;

	r = before < 0 || fchdir(dirfd) ? -errno : 0;
	if (!r)
		r = open_source(&u);
	if (!r)
		r = take_all(&u);
	/* Completes what is begun, in the working folder: so before that is changed back. */
	archive_write_free(u.disk);
	archive_read_free(u.reader);
	archive_entry_free(u.clean);
	tdestroy(u.seen, free);
	if (before >= 0 && fchdir(before) && !r)
		r = -errno;
	if (!r)
		*top = TAKE_PTR(u.top);
	free(u.top);
	return r;
}
