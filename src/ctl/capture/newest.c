// SPDX-License-Identifier: GPL-2.0-only
#include "capture/newest.h"

#include <string.h>

#include "capture/capture_file.h"
#include "tree.h"

struct search {
	uint64_t poked; /* the sequence number of the poke; 0: any capture */
	uint64_t wall_ns;
	char *name; /* of the newest so far */
};

static bool is_wanted(const struct search *search, const struct capture_file *file)
{
	if (search->poked && !(file->poked && file->sequence == search->poked))
		return false;
	return file->wall_ns >= search->wall_ns;
}

/* When it was taken capture.json says: a folder that was copied has a new time. A capture that
 * cannot be read is passed over. */
static int look_at(struct search *search, int dirfd, const char *name)
{
	_cleanup_close_ int fd = openat(dirfd, name, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	_cleanup_free_ char *why = NULL;
	struct capture_file file;
	int r = fd < 0 ? -errno : capture_file_read(&file, fd, &why);

	if (r || !is_wanted(search, &file))
		return r == -ENOMEM ? r : 0;
	free(search->name);
	search->name = strdup(name);
	search->wall_ns = file.wall_ns;
	return search->name ? 0 : -ENOMEM;
}

static int find(DIR *dir, struct search *search)
{
	struct dirent *entry;
	int r = 0;

	/* Hidden ones are being written. */
	while (!r && (entry = readdir(dir))) {
		if (entry->d_name[0] != '.')
			r = look_at(search, dirfd(dir), entry->d_name);
	}
	return r;
}

int newest_poked(const char *folder, uint64_t sequence, char **path)
{
	_cleanup_closedir_ DIR *dir = NULL;
	struct search search = { .poked = sequence };
	int r = opendir_at(&dir, AT_FDCWD, folder);

	if (!r)
		r = find(dir, &search);
	if (!r && !search.name)
		r = -ENOENT;
	if (!r && asprintf(path, "%s/%s", folder, search.name) < 0)
		r = -ENOMEM;
	free(search.name);
	return r;
}

int newest_choose(struct console *con, const char *word, char **folder)
{
	_cleanup_closedir_ DIR *dir = NULL;
	struct search search = { 0 };
	const char *in = word ?: NEWEST_FOLDER;
	int r = opendir_at(&dir, AT_FDCWD, in);

	if (!r && faccessat(dirfd(dir), CAPTURE_FILE_NAME, F_OK, AT_SYMLINK_NOFOLLOW))
		r = find(dir, &search);
	if (!search.name && !word) {
		console_error(con, "CAPTURE is required: there is none in " NEWEST_FOLDER "%s%s",
			      r ? ": " : "", r ? strerror(-r) : "");
		return r ?: -ENOENT;
	}
	/* What is wrong with a folder that was named is told by what reads it. */
	if (!search.name)
		*folder = strdup(word);
	else if (asprintf(folder, "%s/%s", in, search.name) < 0)
		*folder = NULL;
	free(search.name);
	if (*folder)
		return 0;
	console_error(con, "%s", strerror(ENOMEM));
	return -ENOMEM;
}
