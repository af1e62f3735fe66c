// SPDX-License-Identifier: GPL-2.0-only
#include "capture/fingerprint_file.h"

#include <string.h>
#include <sys/stat.h>

#include "io.h"
#include "json_add.h"
#include "json_file.h"
#include "printable.h"

int fingerprint_file_read(struct fingerprint_file *file, int dirfd, struct profile *profile)
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
	r = found ? fingerprint_from_json(&file->fingerprint, found) : 0;
	return r || !profile ? r : profile_from_json(profile, json_find(json, "profile"));
}

static char *file_text(const struct account *account, const struct profile *profile)
{
	_cleanup_json_ json_object *json = json_object_new_object();
	const char *text;

	json_add_int(json, "version", FINGERPRINT_VERSION);
	json_add(json, "fingerprint", fingerprint_json(&account->fingerprint));
	json_add_text(json, "sentence", account->sentence);
	json_add(json, "profile", profile_json(profile));
	text = json_object_to_json_string_ext(json, JSON_C_TO_STRING_PLAIN |
							    JSON_C_TO_STRING_NOSLASHESCAPE);
	return text ? strdup(text) : NULL;
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

int fingerprint_file_write(int dirfd, const struct account *account, const struct profile *profile)
{
	_cleanup_close_ int fd = -1;
	_cleanup_free_ char *text = NULL;
	struct stat folder;
	char name[64];
	int r;

	if (is_read_only(dirfd, &folder))
		return 0;
	text = file_text(account, profile);
	if (!text)
		return -ENOMEM;
	snprintf(name, sizeof(name), "." FINGERPRINT_FILE_NAME ".%d", getpid());
	fd = openat(dirfd, name, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
	if (fd < 0)
		return -errno;
	r = fill(fd, text, &folder);
	if (!r && renameat(dirfd, name, dirfd, FINGERPRINT_FILE_NAME))
		r = -errno;
	if (r)
		unlinkat(dirfd, name, 0);
	return r;
}
