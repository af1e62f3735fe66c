// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
#include "output_file.h"

#include <pthread.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>

#include "io.h"
#include "text.h"

bool output_file_exists(const char *path)
{
	return !faccessat(AT_FDCWD, path, F_OK, AT_SYMLINK_NOFOLLOW);
}

const char *output_file_strerror(int err)
{
	return err == -EEXIST ? "file exists; not overwriting (--force to overwrite)"
			      : strerror(-err);
}

int output_file_open(struct output_file *file, const char *path, bool force)
{
	int err;

	*file = (struct output_file){
		.path = path,
		.temporary = temporary_none,
		.fd = -1,
		.force = force,
	};
	if (!force && output_file_exists(path))
		return -EEXIST;
	err = temporary_file_new(&file->temporary, path);
	file->fd = TAKE_FD(file->temporary.fd);
	return err;
}

int output_file_publish(struct output_file *file)
{
	/* File systems that write behind, such as NFS, report a full disk at close(). */
	int fd = TAKE_FD(file->fd);

	return close(fd) ? -errno : temporary_publish(&file->temporary, file->path, file->force);
}

/* A marked folder, see tree.h, with what is incomplete in it. It is private to its owner and
 * locked: nobody else can put something in its place, make a sweep remove what is theirs, or keep
 * others waiting. */
#define PREFIX ".partial-perf-poke-"
#define TEMPLATE PREFIX "XXXXXX"
#define CONTENT "content"
#define SCRATCH "scratch"
#define ABANDON_TRIES 50
#define ABANDON_PAUSE_US 1000

const struct temporary temporary_none = { .fd = -1, .place = -1, .work = -1 };

/* Those of this process. A thread that ends the process takes the lock for good. */
static pthread_mutex_t living_lock = PTHREAD_MUTEX_INITIALIZER;
static struct temporary *living;
static bool has_published, is_held;

static int remove_hidden_folder(const struct temporary *temporary)
{
	return tree_remove_marked(temporary->place, temporary->name, temporary->work);
}

/* Removes the folder, if it is there, and releases all. */
static void temporary_remove(struct temporary *temporary)
{
	pthread_mutex_lock(&living_lock);
	for (struct temporary **at = &living; *at; at = &(*at)->next) {
		if (*at != temporary)
			continue;
		*at = temporary->next;
		remove_hidden_folder(temporary);
		break;
	}
	pthread_mutex_unlock(&living_lock);
	free(TAKE_PTR(temporary->path));
	closep(&temporary->fd);
	closep(&temporary->work);
	closep(&temporary->place);
}

void temporary_release(struct temporary *temporary)
{
	temporary_remove(temporary);
}

bool temporary_hold_all(void)
{
	pthread_mutex_lock(&living_lock);
	is_held = !has_published;
	if (has_published)
		pthread_mutex_unlock(&living_lock);
	return is_held;
}

void temporary_abandon_all(void)
{
	if (!is_held)
		pthread_mutex_lock(&living_lock);
	for (const struct temporary *temporary = living; temporary; temporary = temporary->next) {
		/* Another thread may still make a file in it. */
		for (int i = 0; i < ABANDON_TRIES && remove_hidden_folder(temporary); i++)
			usleep(ABANDON_PAUSE_US);
	}
}

/* Opens the folder, and makes the template of a path in it. */
static int open_place(struct temporary *temporary, const char *beside, char **path)
{
	const char *end = beside + strlen(beside);
	_cleanup_free_ char *folder = NULL;
	const char *slash;
	int length;

	while (end > beside && end[-1] == '/')
		end--;
	slash = memrchr(beside, '/', (size_t)(end - beside));
	length = slash ? (int)(slash - beside) + 1 : 0;
	folder = strfmt("%.*s.", length, beside);
	*path = strfmt("%.*s" TEMPLATE, length, beside);
	if (!folder || !*path)
		return -ENOMEM;
	/* A folder without read permission is not swept. */
	temporary->place = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (temporary->place >= 0)
		tree_remove_leftovers(temporary->place, PREFIX, true);
	else
		temporary->place = open(folder, O_PATH | O_DIRECTORY | O_CLOEXEC);
	return temporary->place < 0 ? -errno : 0;
}

static int make_hidden_folder(struct temporary *temporary, char *path)
{
	struct stat st;

	if (!mkdtemp(path))
		return -errno;
	snprintf(temporary->name, sizeof(temporary->name), "%s",
		 path + strlen(path) - strlen(TEMPLATE));
	temporary->work = openat(temporary->place, temporary->name,
				 O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (temporary->work < 0 || fstat(temporary->work, &st))
		return -errno;
	/* The owner of the place has put another one there. */
	if (st.st_uid != geteuid() || !tree_is_empty(temporary->work)) {
		closep(&temporary->work);
		return -EPERM;
	}
	/* File systems that have no owners do without: there, nothing is swept. */
	if (!flock(temporary->work, LOCK_EX | LOCK_NB))
		(void)tree_mark_own(temporary->work);
	temporary->next = living;
	living = temporary;
	temporary->path = strfmt("%s/" CONTENT, path);
	return temporary->path ? 0 : -ENOMEM;
}

static int make_temporary(struct temporary *temporary, const char *beside, bool is_folder)
{
	_cleanup_free_ char *path = NULL;
	int err;

	*temporary = temporary_none;
	err = open_place(temporary, beside, &path);
	if (err)
		return err;
	/* Whoever ends the process finds all or nothing. */
	pthread_mutex_lock(&living_lock);
	err = make_hidden_folder(temporary, path);
	temporary->is_folder = is_folder;
	if (!err && is_folder && mkdirat(temporary->work, CONTENT, 0700))
		err = -errno;
	if (!err) {
		temporary->fd = openat(temporary->work, CONTENT,
				       O_CLOEXEC | (is_folder ? O_RDONLY | O_DIRECTORY
							      : O_RDWR | O_CREAT | O_EXCL),
				       0600);
		err = temporary->fd < 0 ? -errno : 0;
	}
	pthread_mutex_unlock(&living_lock);
	return err;
}

int temporary_file_new(struct temporary *temporary, const char *beside)
{
	return make_temporary(temporary, beside, false);
}

int temporary_folder_new(struct temporary *temporary, const char *beside)
{
	return make_temporary(temporary, beside, true);
}

int output_file_scratch(const struct output_file *file)
{
	const int work = file->temporary.work;
	int fd = openat(work, SCRATCH, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);

	if (fd < 0)
		return -errno;
	unlinkat(work, SCRATCH, 0);
	return fd;
}

static int rename_temporary(const struct temporary *temporary, const char *path, bool force)
{
	if (!renameat2(temporary->work, CONTENT, AT_FDCWD, path, force ? 0 : RENAME_NOREPLACE))
		return 0;
	/* Not every file system supports RENAME_NOREPLACE. */
	if (force || errno != EINVAL)
		return -errno;
	/* Of folders it replaces an empty one only. */
	if (temporary->is_folder)
		return renameat(temporary->work, CONTENT, AT_FDCWD, path) ? -errno : 0;
	if (linkat(temporary->work, CONTENT, AT_FDCWD, path, 0))
		return -errno;
	unlinkat(temporary->work, CONTENT, 0);
	return 0;
}

int temporary_publish(struct temporary *temporary, const char *path, bool force)
{
	int err;

	/* Whoever ends the process must not call it a failure then. */
	pthread_mutex_lock(&living_lock);
	err = rename_temporary(temporary, path, force);
	has_published |= !err;
	pthread_mutex_unlock(&living_lock);
	if (!err)
		temporary_remove(temporary);
	return err;
}

void output_file_close(struct output_file *file)
{
	closep(&file->fd);
	temporary_release(&file->temporary);
}
