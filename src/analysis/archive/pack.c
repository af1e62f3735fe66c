// SPDX-License-Identifier: GPL-2.0-only
#include "archive/archive.h"

#include <archive.h>
#include <archive_entry.h>
#include <search.h>
#include <stdbool.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <time.h>
#include <zstd.h>

#include "io.h"
#include "text.h"

#define BLOCK_SIZE (256 << 10)
#define MAX_DEPTH 16
#define ZEROS_SIZE (1 << 30)

struct pack {
	struct archive *archive;
	ZSTD_CCtx *zstd;
	struct archive_entry_linkresolver *links;
	char *top;
	void *folders; /* tree of their names */
	const struct pack_sink *sink;
	int error; /* of the sink */
	bool finished, given_up;
	char buf[BLOCK_SIZE];
	char compressed[BLOCK_SIZE];
};

static void archive_entry_freep(struct archive_entry **entry)
{
	archive_entry_free(*entry);
}

static int explain_pack_error(struct pack *pack, const char *name, char **why)
{
	const char *text = archive_error_string(pack->archive) ?: "cannot be written";
	int error = archive_errno(pack->archive);

	return say_why(why, error > 0 ? -error : -EIO, "%s%s%s%s%s", name ?: "", name ? ": " : "",
		       text, error > 0 ? ": " : "", error > 0 ? strerror(error) : "");
}

static int compress_block(struct pack *pack, const void *data, size_t size, ZSTD_EndDirective end)
{
	ZSTD_inBuffer in = { data, size, 0 };
	size_t left;

	do {
		ZSTD_outBuffer out = { pack->compressed, sizeof(pack->compressed), 0 };

		left = ZSTD_compressStream2(pack->zstd, &out, &in, end);
		pack->error = ZSTD_isError(left)
				      ? -EIO
				      : write_all(pack->sink->fd, pack->compressed, out.pos);
	} while (!pack->error && (in.pos < in.size || (end == ZSTD_e_end && left)));
	if (pack->error)
		archive_set_error(pack->archive, -pack->error, "Write error");
	return pack->error;
}

static la_ssize_t write_archive_block(struct archive *archive, void *ctx, const void *data,
				      size_t size)
{
	struct pack *pack = ctx;

	return !pack->given_up && compress_block(pack, data, size, ZSTD_e_continue)
		       ? -1
		       : (la_ssize_t)size;
}

int pack_new_archive(struct pack **ret, const struct pack_sink *sink, const char *top, char **why)
{
	struct pack *pack = calloc(1, sizeof(*pack));
	int err = -ENOMEM;

	if (!pack)
		return err;
	pack->sink = sink;
	pack->archive = archive_write_new();
	pack->links = archive_entry_linkresolver_new();
	/* libarchive's own filter writes no checksum. */
	pack->zstd = ZSTD_createCCtx();
	if (!pack->archive || !pack->links || !pack->zstd ||
	    ZSTD_isError(ZSTD_CCtx_setParameter(pack->zstd, ZSTD_c_checksumFlag, 1)))
		goto fail;
	/* Pax has no limits on sizes, times and names, and every tar reads it. */
	if (archive_write_set_format_pax_restricted(pack->archive) < ARCHIVE_OK) {
		err = explain_pack_error(pack, NULL, why);
		goto fail;
	}
	archive_entry_linkresolver_set_strategy(pack->links, archive_format(pack->archive));
	/* No padding, even if the output is not a file. */
	archive_write_set_bytes_in_last_block(pack->archive, 1);
	if (archive_write_open(pack->archive, pack, NULL, write_archive_block, NULL) < ARCHIVE_OK) {
		err = explain_pack_error(pack, NULL, why);
		goto fail;
	}
	err = pack_begin_folder(pack, top, why);
	if (err)
		goto fail;
	*ret = pack;
	return 0;
fail:
	pack_free_archive(pack);
	return err;
}

void pack_free_archive(struct pack *pack)
{
	if (!pack)
		return;
	archive_entry_linkresolver_free(pack->links);
	/* An incomplete archive gets no end mark. archive_write_fail() would keep libarchive from
	 * freeing its buffers. */
	pack->given_up = !pack->finished;
	archive_write_free(pack->archive);
	ZSTD_freeCCtx(pack->zstd);
	tdestroy(pack->folders, free);
	free(pack->top);
	free(pack);
}

static int new_archive_entry(struct pack *pack, struct archive_entry **ret, const char *name,
			     mode_t mode)
{
	_cleanup_(archive_entry_freep) struct archive_entry *entry = archive_entry_new();
	_cleanup_free_ char *full = strfmt("%s%s%s", pack->top, *name ? "/" : "", name);

	if (!entry || !full)
		return -ENOMEM;
	archive_entry_set_pathname(entry, full);
	archive_entry_set_mode(entry, mode);
	*ret = TAKE_PTR(entry);
	return 0;
}

/* After a warning, such as a name outside the locale's charset, the header has been written. */
static int write_entry_header(struct pack *pack, struct archive_entry *entry, char **why)
{
	if (archive_write_header(pack->archive, entry) >= ARCHIVE_WARN)
		return 0;
	return explain_pack_error(pack, archive_entry_pathname(entry), why);
}

static int compare_folder_names(const void *a, const void *b)
{
	return strcmp(a, b);
}

static int add_folder_entry(struct pack *pack, const char *name, char **why)
{
	_cleanup_(archive_entry_freep) struct archive_entry *entry = NULL;
	_cleanup_free_ char *copy = strdup(name);
	char **found = copy ? tsearch(copy, &pack->folders, compare_folder_names) : NULL;
	int err;

	if (!found)
		return -ENOMEM;
	if (*found != copy)
		return 0;
	TAKE_PTR(copy);
	err = new_archive_entry(pack, &entry, name, S_IFDIR | 0700);
	if (err)
		return err;
	archive_entry_set_mtime(entry, time(NULL), 0);
	return write_entry_header(pack, entry, why);
}

int pack_add_folder(struct pack *pack, const char *name, char **why)
{
	int err = 0;

	for (const char *slash = strchr(name, '/'); slash && !err; slash = strchr(slash + 1, '/')) {
		_cleanup_free_ char *parent = strndup(name, (size_t)(slash - name));

		err = parent ? add_folder_entry(pack, parent, why) : -ENOMEM;
	}
	return err ? err : add_folder_entry(pack, name, why);
}

/* Adds the data regions of a sparse file. Files without holes stay plain entries. */
static void add_sparse_regions(struct archive_entry *entry, int fd, off_t size)
{
	off_t begin = 0, end = 0;

	while (end < size) {
		begin = lseek(fd, end, SEEK_DATA);
		/* No more data. */
		if (begin < 0 && errno == ENXIO)
			break;
		if (begin < 0)
			return;
		end = lseek(fd, begin, SEEK_HOLE);
		if (end < 0 || (begin == 0 && end >= size))
			return;
		if (end > size)
			end = size;
		archive_entry_sparse_add_entry(entry, begin, end - begin);
	}
	if (!end && size)
		archive_entry_sparse_add_entry(entry, 0, 0);
}

/* The next data, or the end of the file. */
static off_t find_next_data(int fd, off_t at, off_t size)
{
	off_t data = lseek(fd, at, SEEK_DATA);

	if (data < 0)
		return errno == ENXIO ? size : at;
	return data < size ? data : size;
}

/* libarchive counts the bytes of holes, of which it has a list, and looks at none: so a terabyte
 * takes a thousand calls, and the zeros no memory. */
static int write_file_hole(struct pack *pack, const char *name, off_t size, char **why)
{
	size_t room = size < ZEROS_SIZE ? (size_t)size : ZEROS_SIZE;
	void *zeros = mmap(NULL, room, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	int err = 0;

	if (zeros == MAP_FAILED)
		return -errno;
	while (size && !err) {
		size_t nr = (uint64_t)size < room ? (size_t)size : room;

		if (archive_write_data(pack->archive, zeros, nr) < 0)
			err = explain_pack_error(pack, name, why);
		else if (pack->sink->progress)
			err = pack->sink->progress(pack->sink->ctx, nr);
		size -= (off_t)nr;
	}
	munmap(zeros, room);
	return err;
}

static int write_file_part(struct pack *pack, const char *name, int fd, off_t at, size_t wanted,
			   ssize_t *written, char **why)
{
	ssize_t n = pread(fd, pack->buf, wanted, at);

	if (n < 0)
		return say_why(why, -errno, "%s: %s", name, strerror(errno));
	if (!n)
		return say_why(why, -EIO, "%s: truncated while being read", name);
	if (archive_write_data(pack->archive, pack->buf, (size_t)n) < 0)
		return explain_pack_error(pack, name, why);
	*written = n;
	return pack->sink->progress ? pack->sink->progress(pack->sink->ctx, (uint64_t)n) : 0;
}

/* Writes exactly the size in the header, even if the file grows. */
static int write_file_data(struct pack *pack, const char *name, int fd, off_t size, char **why)
{
	off_t at = 0;
	int err = 0;

	while (at < size && !err) {
		size_t wanted = size - at < BLOCK_SIZE ? (size_t)(size - at) : BLOCK_SIZE;
		off_t hole = find_next_data(fd, at, size) - at;
		ssize_t written = 0;

		err = hole ? write_file_hole(pack, name, hole, why)
			   : write_file_part(pack, name, fd, at, wanted, &written, why);
		at += hole ?: written;
	}
	return err;
}

int pack_add_file(struct pack *pack, const char *name, int fd, char **why)
{
	_cleanup_(archive_entry_freep) struct archive_entry *entry = NULL;
	struct archive_entry *later = NULL;
	struct stat st;
	bool is_link;
	int err;

	if (fstat(fd, &st))
		return say_why(why, -errno, "%s: %s", name, strerror(errno));
	err = new_archive_entry(pack, &entry, name, S_IFREG | 0600);
	if (err)
		return err;
	archive_entry_set_size(entry, st.st_size);
	archive_entry_set_mtime(entry, st.st_mtim.tv_sec, st.st_mtim.tv_nsec);
	archive_entry_set_dev(entry, st.st_dev);
	archive_entry_set_ino64(entry, (int64_t)st.st_ino);
	archive_entry_set_nlink(entry, st.st_nlink);
	archive_entry_linkify(pack->links, &entry, &later);
	is_link = archive_entry_hardlink(entry);
	if (is_link)
		archive_entry_unset_size(entry);
	else
		add_sparse_regions(entry, fd, st.st_size);
	err = write_entry_header(pack, entry, why);
	return err || is_link ? err : write_file_data(pack, name, fd, st.st_size, why);
}

int pack_add_text(struct pack *pack, const char *name, const void *text, size_t size, char **why)
{
	_cleanup_(archive_entry_freep) struct archive_entry *entry = NULL;
	int err = new_archive_entry(pack, &entry, name, S_IFREG | 0600);

	if (err)
		return err;
	archive_entry_set_size(entry, (int64_t)size);
	archive_entry_set_mtime(entry, time(NULL), 0);
	err = write_entry_header(pack, entry, why);
	if (!err && size && archive_write_data(pack->archive, text, size) < 0)
		err = explain_pack_error(pack, name, why);
	return err;
}

int pack_begin_folder(struct pack *pack, const char *top, char **why)
{
	free(pack->top);
	pack->top = strdup(top);
	if (!pack->top)
		return -ENOMEM;
	tdestroy(pack->folders, free);
	pack->folders = NULL;
	return pack_add_folder(pack, "", why);
}

struct walk {
	struct pack *pack;
	void (*skipped)(void *ctx, const char *name);
	void *ctx;
	char **why;
};

static int pack_folder_entries(const struct walk *walk, int dirfd, const char *at, int depth);

static int pack_folder_entry(const struct walk *walk, int dirfd, const char *at, const char *entry,
			     int depth)
{
	_cleanup_close_ int fd = -1;
	_cleanup_free_ char *name = strfmt("%s%s%s", at, *at ? "/" : "", entry);
	struct stat st;

	if (!name)
		return -ENOMEM;
	if (fstatat(dirfd, entry, &st, AT_SYMLINK_NOFOLLOW))
		return say_why(walk->why, -errno, "%s: %s", name, strerror(errno));
	if (!layout_has_path(name, st.st_mode)) {
		if (walk->skipped)
			walk->skipped(walk->ctx, name);
		return 0;
	}
	fd = openat(dirfd, entry, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
	if (fd < 0)
		return say_why(walk->why, -errno, "%s: %s", name, strerror(errno));
	if (S_ISREG(st.st_mode))
		return pack_add_file(walk->pack, name, fd, walk->why);
	return pack_folder_entries(walk, fd, name, depth + 1);
}

static int is_no_dot_entry(const struct dirent *entry)
{
	return strcmp(entry->d_name, ".") && strcmp(entry->d_name, "..");
}

static int order_by_bytes(const struct dirent **a, const struct dirent **b)
{
	return strcmp((*a)->d_name, (*b)->d_name);
}

static int pack_folder_entries(const struct walk *walk, int dirfd, const char *at, int depth)
{
	struct dirent **entries;
	int nr, err = 0;

	if (depth > MAX_DEPTH)
		return say_why(walk->why, -ELOOP, "%s: folders nested too deeply", at);
	nr = scandirat(dirfd, ".", &entries, is_no_dot_entry, order_by_bytes);
	if (nr < 0)
		return say_why(walk->why, -errno, "%s: %s", at, strerror(errno));
	if (depth)
		err = add_folder_entry(walk->pack, at, walk->why);
	for (int i = 0; i < nr; i++) {
		if (!err)
			err = pack_folder_entry(walk, dirfd, at, entries[i]->d_name, depth);
		free(entries[i]);
	}
	free(entries);
	return err;
}

int pack_add_capture(struct pack *pack, int dirfd, void (*skipped)(void *ctx, const char *name),
		     void *ctx, char **why)
{
	const struct walk walk = { pack, skipped, ctx, why };

	return pack_folder_entries(&walk, dirfd, "", 0);
}

int pack_finish_archive(struct pack *pack, char **why)
{
	if (archive_write_close(pack->archive) < ARCHIVE_OK ||
	    compress_block(pack, NULL, 0, ZSTD_e_end))
		return explain_pack_error(pack, NULL, why);
	pack->finished = true;
	return 0;
}
