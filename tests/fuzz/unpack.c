// SPDX-License-Identifier: GPL-2.0-only
#include "archive/archive.h"

#include <limits.h>
#include <stdbool.h>
#include <string.h>
#include <sys/stat.h>

#include "fuzz.h"
#include "io.h"

#define MAX_SIZE (1 << 20)
#define MAX_ENTRIES 200
/* Archives are unpacked two folders below, beside a file that must not change. */
#define INSIDE "folder/inside"
#define OUTSIDE "folder/outside"
#define TEXT "untouched"

struct place {
	char path[32];
	int fd;
};

static void make_place(struct place *place)
{
	int fd;

	strcpy(place->path, "/tmp/perf-poke-fuzz-XXXXXX");
	must(mkdtemp(place->path));
	place->fd = open(place->path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	must(place->fd >= 0 && !mkdirat(place->fd, "folder", 0700) &&
	     !mkdirat(place->fd, INSIDE, 0700));
	fd = openat(place->fd, OUTSIDE, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
	must(write(fd, TEXT, strlen(TEXT)) == (ssize_t)strlen(TEXT));
	close(fd);
}

static size_t count_entries(int dirfd, const char *name)
{
	_cleanup_closedir_ DIR *dir = NULL;
	size_t nr = 0;

	must(!opendir_at(&dir, dirfd, name));
	while (readdir(dir))
		nr++;
	return nr - 2;
}

static bool has(const char *top, const char *path, mode_t mode)
{
	bool of_selftest = layout_selftest_has_path(path, mode);

	/* The name is not reported for a refused archive. */
	if (!top)
		return of_selftest || layout_has_path(path, mode);
	return strcmp(top, LAYOUT_SELFTEST) ? layout_has_path(path, mode) : of_selftest;
}

/* Only non-executable files, and folders, that belong to this user. */
static void check_tree(int dirfd, const char *at, const char *top, size_t *nr)
{
	_cleanup_closedir_ DIR *dir = NULL;
	struct dirent *entry;

	must(!opendir_at(&dir, dirfd, *at ? at : "."));
	while ((entry = readdir(dir))) {
		char path[PATH_MAX];
		struct stat st;

		if (!strcmp(entry->d_name, ".") || !strcmp(entry->d_name, ".."))
			continue;
		++*nr;
		snprintf(path, sizeof(path), "%s%s%s", at, *at ? "/" : "", entry->d_name);
		must(!fstatat(dirfd, path, &st, AT_SYMLINK_NOFOLLOW));
		must(has(top, path, st.st_mode));
		must(st.st_uid == getuid() && !(st.st_mode & (S_ISUID | S_ISGID | S_ISVTX)));
		must(S_ISDIR(st.st_mode) || (S_ISREG(st.st_mode) && !(st.st_mode & 0111)));
		if (S_ISDIR(st.st_mode))
			check_tree(dirfd, path, top, nr);
	}
}

static void check_outside(const struct place *place)
{
	_cleanup_close_ int fd = openat(place->fd, OUTSIDE, O_RDONLY | O_CLOEXEC);
	char text[32] = "";
	struct stat st;

	must(count_entries(place->fd, ".") == 1 && count_entries(place->fd, "folder") == 2);
	must(fd >= 0 && read(fd, text, sizeof(text) - 1) == (ssize_t)strlen(TEXT));
	must(!strcmp(text, TEXT) && !fstat(fd, &st) && st.st_nlink == 1);
}

int fuzz_one(const uint8_t *data, size_t size)
{
	const struct unpack_limits limits = { .max_size = MAX_SIZE, .max_entries = MAX_ENTRIES };
	const struct unpack_source source = { .data = data ?: (const uint8_t *)"", .size = size };
	_cleanup_free_ char *why = NULL;
	_cleanup_free_ char *top = NULL;
	struct place place;
	size_t nr = 0;
	int fd, r;

	make_place(&place);
	fd = openat(place.fd, INSIDE, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	r = unpack_archive(&source, fd, &limits, &top, &why);
	must(r ? why && !strchr(why, '\n')
	       : top && (layout_is_capture_name(top) || !strcmp(top, LAYOUT_SELFTEST)));
	must(!top || !strchr(top, '/'));
	check_tree(fd, "", top, &nr);
	must(nr <= MAX_ENTRIES);
	/* If the archive announces too large a size, nothing of that size is written. */
	must(tree_size(fd, ".").all <= (uint64_t)MAX_SIZE * MAX_ENTRIES);
	check_outside(&place);
	close(fd);
	close(place.fd);
	must(!tree_remove(AT_FDCWD, place.path));
	return r;
}
