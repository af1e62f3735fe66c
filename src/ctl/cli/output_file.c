// SPDX-License-Identifier: GPL-2.0-only
#include "cli/cli.h"

#include <stdbool.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>

#include "text.h"
#include "tree.h"

bool output_file_exists(const char *path)
{
	return !faccessat(AT_FDCWD, path, F_OK, AT_SYMLINK_NOFOLLOW);
}

static int rename_to(const char *partial, const char *path, bool force)
{
	if (!renameat2(AT_FDCWD, partial, AT_FDCWD, path, force ? 0 : RENAME_NOREPLACE))
		return 0;
	/* Not every file system supports RENAME_NOREPLACE. */
	if (force || errno != EINVAL)
		return -errno;
	if (linkat(AT_FDCWD, partial, AT_FDCWD, path, 0))
		return -errno;
	unlink(partial);
	return 0;
}

const char *output_file_strerror(int err)
{
	return err == -EEXIST ? "file exists; not overwriting (--force to overwrite)"
			      : strerror(-err);
}

int output_file_open(struct output_file *file, const char *path, bool force)
{
	int r;

	*file = (struct output_file){
		.path = path,
		.partial = partial_none,
		.fd = -1,
		.force = force,
	};
	if (!force && output_file_exists(path))
		return -EEXIST;
	r = partial_file(&file->partial, path);
	file->fd = TAKE_FD(file->partial.fd);
	return r;
}

int output_file_publish(struct output_file *file)
{
	/* File systems that write behind, such as NFS, report a full disk at close(). */
	int fd = TAKE_FD(file->fd);
	int r;

	if (close(fd))
		return -errno;
	r = rename_to(file->partial.path, file->path, file->force);
	if (!r)
		partial_keep(&file->partial);
	return r;
}

void output_file_close(struct output_file *file)
{
	closep(&file->fd);
	partial_release(&file->partial);
}

#define PREFIX ".partial-perf-poke-"
#define RANDOM "XXXXXX"

/* How long to wait for others that sweep. Anybody can lock /tmp, for ever. */
#define LOCK_TRIES 1000
#define LOCK_PAUSE_US 2000

const struct partial partial_none = { .fd = -1, .place = -1 };

/* Captures being written and files of other programs have different names. */
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

/* Without this lock, another process that sweeps would remove what is made next. */
static void lock_shared(int place)
{
	for (int i = 0; i < LOCK_TRIES && flock(place, LOCK_SH | LOCK_NB); i++)
		usleep(LOCK_PAUSE_US);
}

static int make(struct partial *partial, const char *beside)
{
	_cleanup_free_ char *folder = NULL;
	const char *end = beside + strlen(beside);
	const char *slash;
	int length;

	*partial = partial_none;
	while (end > beside && end[-1] == '/')
		end--;
	slash = memrchr(beside, '/', (size_t)(end - beside));
	length = slash ? (int)(slash - beside) + 1 : 0;
	folder = strfmt("%.*s.", length, beside);
	partial->path = strfmt("%.*s" PREFIX RANDOM, length, beside);
	if (!folder || !partial->path)
		return -ENOMEM;
	/* A folder without read permission cannot be locked and is not swept. */
	partial->place = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (partial->place >= 0) {
		sweep(partial->place);
		lock_shared(partial->place);
	}
	return 0;
}

/* Nothing was created. */
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
