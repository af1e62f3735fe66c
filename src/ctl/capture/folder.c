// SPDX-License-Identifier: GPL-2.0-only
#include "capture/folder.h"

#include <string.h>

#include "strfmt.h"

static int look_at(int dirfd, const char *name, int (*take)(void *, const struct folder_entry *),
		   void *ctx)
{
	_cleanup_close_ int fd = openat(dirfd, name, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	struct folder_entry entry = { .name = name, .dirfd = fd, .err = fd < 0 ? -errno : 0 };
	int r;

	if (fd < 0 && (errno == ENOTDIR || errno == ENOENT))
		return 0;
	if (!entry.err)
		entry.err = capture_file_read(&entry.file, fd, &entry.why);
	r = entry.err == -ENOMEM ? -ENOMEM : take(ctx, &entry);
	free(entry.why);
	return r;
}

int folder_each(int dirfd, int (*take)(void *ctx, const struct folder_entry *entry), void *ctx)
{
	_cleanup_closedir_ DIR *dir = NULL;
	struct dirent *entry;
	int r = opendir_at(&dir, dirfd, ".");

	while (!r) {
		errno = 0;
		entry = readdir(dir);
		if (!entry)
			return -errno;
		if (entry->d_name[0] != '.')
			r = look_at(dirfd, entry->d_name, take, ctx);
	}
	return r;
}

struct search {
	uint64_t poked; /* sequence number of a poke; 0: any capture */
	uint64_t wall_ns;
	char *name; /* of the newest so far */
};

/* The time comes from capture.json: the folder's own changes when it is copied. */
static int compare(void *ctx, const struct folder_entry *entry)
{
	const struct capture_file *file = &entry->file;
	struct search *search = ctx;

	if (entry->err || file->wall_ns < search->wall_ns ||
	    (search->poked && !(file->poked && file->sequence == search->poked)))
		return 0;
	free(search->name);
	search->name = strdup(entry->name);
	search->wall_ns = file->wall_ns;
	return search->name ? 0 : -ENOMEM;
}

static int find(const char *folder, struct search *search, char **path)
{
	_cleanup_close_ int fd = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	int r;

	if (fd < 0)
		return -errno;
	/* The folder is a capture itself. */
	if (!search->poked && !faccessat(fd, CAPTURE_FILE_NAME, F_OK, AT_SYMLINK_NOFOLLOW))
		return -ENOENT;
	r = folder_each(fd, compare, search);
	if (!r && search->name)
		*path = strfmt("%s/%s", folder, search->name);
	if (!r)
		r = !search->name ? -ENOENT : *path ? 0 : -ENOMEM;
	free(search->name);
	return r;
}

int folder_poked(const char *folder, uint64_t sequence, char **path)
{
	return find(folder, &(struct search){ .poked = sequence }, path);
}

int folder_choose(struct console *con, const char *word, char **path)
{
	int r = find(word ?: FOLDER_DEFAULT, &(struct search){ 0 }, path);

	/* Whoever reads the named folder reports what is wrong with it. */
	if (r && r != -ENOMEM && word) {
		*path = strdup(word);
		r = *path ? 0 : -ENOMEM;
	}
	if (r == -ENOENT)
		console_error(con, "CAPTURE is required: no capture in " FOLDER_DEFAULT);
	else if (r)
		console_error(con, "'%s': %s", word ?: FOLDER_DEFAULT, strerror(-r));
	return r;
}
