// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
#include "capture/capture.h"

#include <limits.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>

#include "io.h"

#define WORK_TRIES 1000

static bool output_trusts_owner(const struct output *output, uid_t uid)
{
	return !uid || uid == geteuid() || uid == output->owner;
}

/* A group whose number is the owner's is taken for the owner's private group. */
static bool others_can_write(const struct stat *st)
{
	return st->st_mode & S_IWOTH ||
	       (st->st_mode & S_IWGRP && st->st_gid && st->st_gid != st->st_uid);
}

static bool is_same_inode(const struct stat *a, const struct stat *b)
{
	return a->st_dev == b->st_dev && a->st_ino == b->st_ino;
}

/* The kernel's path; ends with " (deleted)" if the folder was removed. */
static char *output_folder_path(int fd)
{
	char link[64], path[PATH_MAX];
	ssize_t len;

	snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
	len = readlink(link, path, sizeof(path) - 1);
	return len < 0 ? NULL : strndup(path, len);
}

static int output_refuse_folder(const struct output *output, int fd, const struct stat *st,
				const struct log *log)
{
	_cleanup_free_ char *path = output_folder_path(fd);

	return log_error(
		log, -EPERM,
		"output '%s': other users can change '%s' (owner %u, group %u, mode %04o): "
		"use a folder that only root, or you, can write to, inside folders of which the "
		"same is true",
		output->path, path ? path : output->path, st->st_uid, st->st_gid,
		st->st_mode & 07777);
}

/* Checks the folder and its parents. In a sticky folder nobody else can replace our entries. */
static int output_check_parents(const struct output *output, const struct log *log)
{
	_cleanup_close_ int fd = openat(output->fd, ".", O_PATH | O_DIRECTORY | O_CLOEXEC);
	struct stat st = {}, below;
	int parent;

	do {
		below = st;
		if (fd < 0 || fstat(fd, &st))
			return log_error(log, -errno,
					 "output '%s': cannot look at the folders above it: %s",
					 output->path, strerror(errno));
		if (!output_trusts_owner(output, st.st_uid) ||
		    (others_can_write(&st) && !(st.st_mode & S_ISVTX)))
			return output_refuse_folder(output, fd, &st, log);
		parent = openat(fd, "..", O_PATH | O_DIRECTORY | O_CLOEXEC);
		closep(&fd);
		fd = parent;
	} while (!is_same_inode(&st, &below));
	return 0;
}

/* Follows a symbolic link only if it is trusted. */
static int output_open_folder(const struct output *output)
{
	const int flags = O_RDONLY | O_DIRECTORY | O_CLOEXEC;
	int fd = open(output->path, flags | O_NOFOLLOW);
	struct stat st;

	if (fd < 0 && errno == ENOTDIR && !lstat(output->path, &st) && S_ISLNK(st.st_mode)) {
		if (output_trusts_owner(output, st.st_uid))
			fd = open(output->path, flags);
		else
			errno = ELOOP;
	}
	return fd < 0 ? -errno : fd;
}

/* Whoever may change the parent could have put another folder in its place. */
static bool output_is_new(const struct output *output)
{
	struct stat st;

	return !fstat(output->fd, &st) && st.st_uid == geteuid() && tree_is_empty(output->fd);
}

/* -EAGAIN: the name is taken, or another session swept the folder before it was locked. */
static int output_try_work(struct output *output)
{
	_cleanup_close_ int fd = -1;

	if (mkdirat(output->fd, output->work_name, 0700))
		return errno == EEXIST ? -EAGAIN : -errno;
	fd = openat(output->fd, output->work_name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (fd < 0)
		return errno == ENOENT ? -EAGAIN : -errno;
	if (flock(fd, LOCK_EX | LOCK_NB))
		return errno == EWOULDBLOCK ? -EAGAIN : -errno;
	if (tree_is_removed(fd))
		return -EAGAIN;
	/* File systems that have no owners do without: there, nothing is swept. */
	(void)tree_mark_own(fd);
	output->work = TAKE_FD(fd);
	return 0;
}

static int output_make_work(struct output *output)
{
	int err = -EAGAIN;

	for (int i = 0; i < WORK_TRIES && err == -EAGAIN; i++) {
		snprintf(output->work_name, sizeof(output->work_name), OUTPUT_WORK "%d-%d",
			 getpid(), i);
		err = output_try_work(output);
	}
	return err;
}

static int output_log_error(const struct output *output, int err, const char *what,
			    const struct log *log)
{
	return log_error(log, err, "output '%s': cannot %s this folder: %s", output->path, what,
			 strerror(-err));
}

static int output_open_checked(struct output *output, const struct log *log)
{
	int err;

	output->made = !mkdir(output->path, 0700);
	if (!output->made && errno != EEXIST)
		return output_log_error(output, -errno, "make", log);
	output->fd = output_open_folder(output);
	if (output->fd < 0)
		return output_log_error(output, output->fd, "open", log);
	output->made = output->made && output_is_new(output);
	if (output->made && output->owner && fchown(output->fd, output->owner, (gid_t)-1))
		return output_log_error(output, -errno, "give to its owner", log);
	if (faccessat(output->fd, ".", W_OK | X_OK, AT_EACCESS))
		return output_log_error(output, -errno, "write to", log);
	err = output_check_parents(output, log);
	if (err)
		return err;
	tree_remove_leftovers(output->fd, OUTPUT_WORK, true);
	err = output_make_work(output);
	return err ? output_log_error(output, err, "write to", log) : 0;
}

int output_open(struct output *output, const char *path, uid_t owner, const struct log *log)
{
	int err;

	*output = (struct output){ .path = path, .owner = owner, .fd = -1, .work = -1 };
	err = output_open_checked(output, log);
	if (err)
		output_close(output);
	/* To the caller, -ENOENT means events and symbols. */
	return err == -ENOENT ? -ENOTDIR : err;
}

char *output_moved(const struct output *output)
{
	struct stat held, there;
	char *path;

	if (fstat(output->fd, &held))
		return NULL;
	if (!stat(output->path, &there) && is_same_inode(&held, &there))
		return NULL;
	path = output_folder_path(output->fd);
	return path ? path : strdup("somewhere else");
}

int output_renew(struct output *output, char **note)
{
	_cleanup_free_ char *moved = output_moved(output);
	struct output again;
	int err;

	if (!moved)
		return 0;
	err = output_open(&again, output->path, output->owner, &(struct log){ 0 });
	if (err)
		return err;
	/* Its contents are recreated on demand. */
	tree_remove(output->fd, output->work_name);
	/* Descriptors keep their numbers and now mean the new folders. */
	dup3(again.fd, output->fd, O_CLOEXEC);
	dup3(again.work, output->work, O_CLOEXEC);
	memcpy(output->work_name, again.work_name, sizeof(output->work_name));
	output->made |= again.made;
	closep(&again.fd);
	closep(&again.work);
	if (asprintf(note,
		     "output '%s': this folder was moved or removed while the session ran, and is "
		     "made again; captures that were reported before are in '%s'",
		     output->path, moved) < 0)
		*note = NULL;
	return 1;
}

void output_close(struct output *output)
{
	if (output->fd >= 0)
		output->moved = output_moved(output);
	if (output->work >= 0)
		tree_remove(output->fd, output->work_name);
	closep(&output->work);
	closep(&output->fd);
	/* Fails unless it is empty. */
	if (output->made && !output->moved)
		rmdir(output->path);
	output->made = false;
}
