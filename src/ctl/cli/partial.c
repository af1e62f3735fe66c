// SPDX-License-Identifier: GPL-2.0-only
#include "cli/partial.h"

#include <stdbool.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>

#include "tree.h"

#define PREFIX ".partial-perf-poke-"
#define RANDOM "XXXXXX"

const struct partial partial_none = { .fd = -1, .place = -1 };

/* No capture that is being written has such a name, and nothing of another program. */
static bool is_ours(int dirfd, const char *name)
{
	static const char random[] =
		"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789";
	size_t length = strlen(PREFIX);
	struct stat st;

	return !strncmp(name, PREFIX, length) && strspn(name + length, random) == strlen(RANDOM) &&
	       !name[length + strlen(RANDOM)] && !fstatat(dirfd, name, &st, AT_SYMLINK_NOFOLLOW) &&
	       st.st_uid == geteuid();
}

static void sweep(int place)
{
	_cleanup_closedir_ DIR *dir = NULL;
	struct dirent *entry;

	if (flock(place, LOCK_EX | LOCK_NB) || opendir_at(&dir, place, "."))
		return;
	while ((entry = readdir(dir))) {
		if (is_ours(place, entry->d_name))
			tree_remove(place, entry->d_name);
	}
}

static int open_place(const char *path, int length)
{
	_cleanup_free_ char *folder = strndup(path, (size_t)length);
	int fd;

	if (!folder)
		return -ENOMEM;
	fd = open(length ? folder : ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	return fd < 0 ? -errno : fd;
}

static int make(struct partial *partial, const char *beside)
{
	const char *end = beside + strlen(beside);
	const char *slash;
	int length;

	*partial = partial_none;
	while (end > beside && end[-1] == '/')
		end--;
	slash = memrchr(beside, '/', (size_t)(end - beside));
	length = slash ? (int)(slash - beside) + 1 : 0;
	/* One that may be written to, but not read, cannot be locked: then nothing is swept. */
	partial->place = open_place(beside, length);
	if (partial->place >= 0) {
		sweep(partial->place);
		flock(partial->place, LOCK_SH | LOCK_NB);
	}
	if (asprintf(&partial->path, "%.*s" PREFIX RANDOM, length, beside) >= 0)
		return 0;
	partial->path = NULL;
	return -ENOMEM;
}

/* There is nothing to remove. */
static int fail(struct partial *partial)
{
	int r = -errno;

	partial_keep(partial);
	return r;
}

int partial_file(struct partial *partial, const char *beside)
{
	int r = make(partial, beside);

	if (r)
		return r;
	partial->fd = mkostemp(partial->path, O_CLOEXEC);
	return partial->fd < 0 ? fail(partial) : 0;
}

int partial_folder(struct partial *partial, const char *beside)
{
	int r = make(partial, beside);

	if (r)
		return r;
	if (!mkdtemp(partial->path))
		return fail(partial);
	partial->fd = open(partial->path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	return partial->fd < 0 ? -errno : 0;
}

void partial_keep(struct partial *partial)
{
	free(TAKE_PTR(partial->path));
}

void partial_release(struct partial *partial)
{
	closep(&partial->fd);
	if (partial->path)
		tree_remove(AT_FDCWD, partial->path);
	partial_keep(partial);
	closep(&partial->place);
}
