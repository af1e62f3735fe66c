// SPDX-License-Identifier: GPL-2.0-only
#include "session/perf_files.h"

#include <string.h>
#include <sys/stat.h>

#include "array.h"
#include "text.h"

/* In perf's file names: 2026112101332074. */
#define TIMESTAMP_DIGITS 16

static int add_file(struct perf_files *found, const char *path)
{
	struct stat st;

	if (stat(path, &st))
		return 0;
	if (array_grow(&found->files, found->nr, sizeof(*found->files)))
		return -ENOMEM;
	found->files[found->nr] = (struct perf_file){
		.path = strdup(path),
		.dev = st.st_dev,
		.ino = st.st_ino,
	};
	return found->files[found->nr++].path ? 0 : -ENOMEM;
}

static bool is_dump(const char *name, const char *base)
{
	size_t length = strlen(base);

	return !strncmp(name, base, length) && name[length] == '.' &&
	       strspn(name + length + 1, "0123456789") == TIMESTAMP_DIGITS &&
	       !name[length + 1 + TIMESTAMP_DIGITS];
}

static int compare(const void *a, const void *b)
{
	return strcmp(((const struct perf_file *)a)->path, ((const struct perf_file *)b)->path);
}

/* Sorted by time. */
static int find_dumps(struct perf_files *found, const char *output)
{
	const char *slash = strrchr(output, '/');
	const char *base = slash ? slash + 1 : output;
	int length = (int)(base - output);
	_cleanup_closedir_ DIR *dir = NULL;
	_cleanup_free_ char *folder = NULL;
	struct dirent *entry;

	folder = strfmt("%.*s.", length, output);
	if (!folder)
		return -ENOMEM;
	if (opendir_at(&dir, AT_FDCWD, folder))
		return 0;
	while ((entry = readdir(dir))) {
		_cleanup_free_ char *path = NULL;

		if (!is_dump(entry->d_name, base))
			continue;
		path = strfmt("%.*s%s", length, output, entry->d_name);
		if (!path || add_file(found, path))
			return -ENOMEM;
	}
	if (found->nr)
		qsort(found->files, found->nr, sizeof(*found->files), compare);
	return 0;
}

int perf_files_find(struct perf_files *found, const char *output)
{
	int r = add_file(found, output);

	return r ? r : find_dumps(found, output);
}

void perf_files_subtract(struct perf_files *found, const struct perf_files *before)
{
	size_t left = 0;

	for (size_t i = 0; i < found->nr; i++) {
		struct perf_file *file = &found->files[i];
		bool old = false;

		for (size_t j = 0; j < before->nr; j++)
			old |= before->files[j].dev == file->dev &&
			       before->files[j].ino == file->ino;
		if (old)
			free(file->path);
		else
			found->files[left++] = *file;
	}
	found->nr = left;
}

void perf_files_release(struct perf_files *files)
{
	for (size_t i = 0; i < files->nr; i++)
		free(files->files[i].path);
	free(files->files);
	*files = (struct perf_files){ 0 };
}
