// SPDX-License-Identifier: GPL-2.0-only
#include "capture/fingerprint_file.h"

#include <string.h>
#include <sys/stat.h>

#include "io.h"
#include "json_add.h"
#include "json_file.h"
#include "text.h"

int fingerprint_file_read(struct fingerprint_file *file, int dirfd)
{
	_cleanup_json_ json_object *json = NULL;
	_cleanup_free_ char *why = NULL;
	json_object *version, *found;
	int r = json_file_read(&json, dirfd, FINGERPRINT_FILE_NAME, &why);

	*file = (struct fingerprint_file){ 0 };
	if (r)
		return r;
	if (!json_object_object_get_ex(json, "version", &version) ||
	    !json_object_object_get_ex(json, "fingerprint", &found))
		return -EINVAL;
	if (!json_object_is_type(version, json_type_int) ||
	    json_object_get_int64(version) != FINGERPRINT_VERSION)
		return -ENOENT;
	printable_copy(file->sentence, sizeof(file->sentence), json_text_of(json, "sentence"));
	return found ? fingerprint_from_json(&file->fingerprint, found) : 0;
}

static json_object *new_fingerprint(const struct account *account)
{
	json_object *json = json_object_new_object();

	json_add_int(json, "version", FINGERPRINT_VERSION);
	json_add(json, "fingerprint", fingerprint_json(&account->fingerprint));
	json_add_text(json, "sentence", account->sentence);
	return json;
}

/* Root can write to read-only folders, but should not. */
static bool is_read_only(int dirfd, struct stat *st)
{
	return fstat(dirfd, st) || !(st->st_mode & 0222) || faccessat(dirfd, ".", W_OK, 0);
}

static int fill(int fd, const char *text, const struct stat *folder)
{
	/* If root reports on another user's capture, that user must be able to remove the file. */
	if (!geteuid() && fchown(fd, folder->st_uid, folder->st_gid))
		return -errno;
	if (fchmod(fd, folder->st_mode & 0666))
		return -errno;
	return write_all(fd, text, strlen(text)) ?: write_all(fd, "\n", 1);
}

/* Takes json. */
static int replace(int dirfd, const struct stat *folder, const char *name, json_object *json)
{
	_cleanup_json_ json_object *taken = json;
	const char *text = json_object_to_json_string_ext(
		taken, JSON_C_TO_STRING_PLAIN | JSON_C_TO_STRING_NOSLASHESCAPE);
	_cleanup_close_ int fd = -1;
	char temporary[64];
	int r;

	if (!taken || !text)
		return -ENOMEM;
	snprintf(temporary, sizeof(temporary), ".%s.%d", name, getpid());
	fd = openat(dirfd, temporary, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
	if (fd < 0)
		return -errno;
	r = fill(fd, text, folder);
	if (!r && renameat(dirfd, temporary, dirfd, name))
		r = -errno;
	if (r)
		unlinkat(dirfd, temporary, 0);
	return r;
}

int fingerprint_file_write(int dirfd, const struct account *account)
{
	struct stat folder;

	if (is_read_only(dirfd, &folder))
		return 0;
	return replace(dirfd, &folder, FINGERPRINT_FILE_NAME, new_fingerprint(account));
}
