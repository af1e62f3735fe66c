// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
/* Reads captures from disk. They are not trusted: values are checked and bounded. */
#include <dirent.h>
#include <fcntl.h>
#include <inttypes.h>
#include <string.h>

#include "capture/capture_internal.h"
#include "io.h"
#include "json_util.h"
#include "machine/base.h"
#include "text.h"

#define FILE_NAME "capture.json"

/* `told` is returned to the caller; its strings belong to `json`. */
struct saved {
	struct perf_poke_capture told;
	struct perf_poke_spike spike;
	struct perf_poke_bucket *buckets;
	json_object *json;
	char *path;
};

static void saved_free(struct saved *saved)
{
	if (!saved)
		return;
	json_object_put(saved->json);
	capture_fields_release(&saved->spike);
	free(saved->buckets);
	free(saved->path);
	free(saved);
}

static void saved_freep(struct saved **saved)
{
	saved_free(*saved);
}

static bool saved_read_bucket(json_object *row, uint64_t after, struct perf_poke_bucket *bucket)
{
	json_object *high;

	if (!json_object_is_type(row, json_type_array) || json_object_array_length(row) != 3)
		return false;
	high = json_object_array_get_idx(row, 1);
	bucket->high_ns = UINT64_MAX;
	return json_read_number(json_object_array_get_idx(row, 0), &bucket->low_ns) &&
	       (!high || json_read_number(high, &bucket->high_ns)) &&
	       json_read_number(json_object_array_get_idx(row, 2), &bucket->count) &&
	       bucket->low_ns >= after && bucket->low_ns < bucket->high_ns;
}

/* Captures of earlier versions have no statistics. The rows are copied to an array: JSON objects
 * would dominate the size of a list of captures. */
static int saved_read_buckets(struct saved *saved, char **why)
{
	static const char path[] = "statistics.histogram";
	json_object *list = json_find_value(saved->json, path);
	uint64_t after = 0;
	size_t nr;

	if (list && !json_object_is_type(list, json_type_array))
		return say_why(why, -EINVAL, "%s is not a list", path);
	nr = list ? json_object_array_length(list) : 0;
	if (!nr)
		return 0;
	saved->told.buckets = saved->buckets = calloc(nr, sizeof(*saved->buckets));
	if (!saved->buckets)
		return -ENOMEM;
	for (size_t i = 0; i < nr; i++) {
		if (!saved_read_bucket(json_object_array_get_idx(list, i), after,
				       &saved->buckets[i]))
			return say_why(why, -EINVAL,
				       "%s: row %zu is not [LOW, HIGH, COUNT] in ascending order",
				       path, i);
		after = saved->buckets[i].high_ns;
	}
	saved->told.nr_buckets = nr;
	json_object_object_del(json_find_value(saved->json, "statistics"), "histogram");
	return 0;
}

int perf_poke__capture_open(const struct perf_poke_capture **capture, const char *path)
{
	_cleanup_(saved_freep) struct saved *saved = calloc(1, sizeof(*saved));
	_cleanup_close_ int fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	_cleanup_free_ char *why = NULL;
	const struct log log = {};
	int err = fd < 0 ? -errno : 0;

	last_error_clear();
	if (!saved || (!err && !(saved->told.path = saved->path = strdup(path))))
		err = -ENOMEM;
	if (!err)
		err = json_file_read(&saved->json, fd, FILE_NAME, &why);
	if (!err) {
		saved->spike.sz = sizeof(saved->spike);
		saved->told.sz = sizeof(saved->told);
		saved->told.spike = &saved->spike;
		err = capture_fields_read(saved->json, &saved->told, &saved->spike, &why);
	}
	if (!err)
		err = saved_read_buckets(saved, &why);
	if (err) {
		log_error(&log, err, "%s/" FILE_NAME ": %s", path, why ?: strerror(-err));
		return last_error_return(err);
	}
	saved->told.size = tree_size(fd, "perf.data").all;
	*capture = &TAKE_PTR(saved)->told;
	return last_error_return(0);
}

void perf_poke__capture_close(const struct perf_poke_capture *capture)
{
	saved_free((struct saved *)capture);
}

static json_object *capture_find_json(const struct perf_poke_capture *capture, const char *path)
{
	return json_find_value(((const struct saved *)capture)->json, path);
}

int perf_poke__capture_number(const struct perf_poke_capture *capture, const char *path,
			      uint64_t *value)
{
	json_object *found = capture_find_json(capture, path);
	uint64_t number;

	if (!found)
		return -ENOENT;
	if (json_object_is_type(found, json_type_boolean))
		number = (uint64_t)json_object_get_boolean(found);
	else if (!json_read_number(found, &number))
		return -EINVAL;
	*value = number;
	return 0;
}

const char *perf_poke__capture_text(const struct perf_poke_capture *capture, const char *path)
{
	json_object *found = capture_find_json(capture, path);

	return json_object_is_type(found, json_type_string) ? json_object_get_string(found) : NULL;
}

/* A folder without access may be one. */
static bool is_capture_folder(int dirfd, const char *name)
{
	_cleanup_close_ int fd = openat(dirfd, name, O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	if (fd < 0)
		return errno == EACCES;
	return !faccessat(fd, FILE_NAME, F_OK, AT_SYMLINK_NOFOLLOW) ||
	       !faccessat(fd, "perf.data", F_OK, AT_SYMLINK_NOFOLLOW);
}

/* Hidden captures are being written. */
static int is_shown_entry(const struct dirent *entry)
{
	return entry->d_name[0] != '.';
}

static int call_with_path(const char *folder, const char *name, perf_poke_path_fn fn, void *ctx)
{
	_cleanup_free_ char *path =
		strfmt("%s%s%s", folder, folder[strlen(folder) - 1] == '/' ? "" : "/", name);

	if (path)
		fn(ctx, path);
	return path ? 1 : -ENOMEM;
}

int perf_poke__captures(const char *folder, perf_poke_path_fn fn, void *ctx)
{
	_cleanup_close_ int fd = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	struct dirent **names;
	int nr, told = 0;

	if (fd < 0)
		return -errno;
	if (is_capture_folder(fd, ".")) {
		fn(ctx, folder);
		return 1;
	}
	nr = scandirat(fd, ".", &names, is_shown_entry, alphasort);
	if (nr < 0)
		return -errno;
	for (int i = 0; i < nr; i++) {
		if (told >= 0 && is_capture_folder(fd, names[i]->d_name)) {
			int err = call_with_path(folder, names[i]->d_name, fn, ctx);

			told = err < 0 ? err : told + err;
		}
		free(names[i]);
	}
	free(names);
	return told;
}
