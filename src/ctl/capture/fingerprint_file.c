// SPDX-License-Identifier: GPL-2.0-only
#include "capture/fingerprint_file.h"

#include <string.h>
#include <sys/stat.h>

#include "json_add.h"
#include "json_file.h"
#include "printable.h"
#include "write_all.h"

static bool read_string(json_object *from, const char *name, char *buf, size_t size)
{
	json_object *value;

	if (!json_object_object_get_ex(from, name, &value) ||
	    !json_object_is_type(value, json_type_string))
		return false;
	printable_copy(buf, size, json_object_get_string(value));
	return true;
}

/* A name that fingerprints could have. */
static bool read_name(json_object *value, char *buf)
{
	const char *text = json_object_get_string(value);

	if (!json_object_is_type(value, json_type_string) || !*text ||
	    strlen(text) >= FINGERPRINT_NAME_SIZE || strpbrk(text, " <>\t\r\n"))
		return false;
	printable_copy(buf, FINGERPRINT_NAME_SIZE, text);
	return true;
}

int fingerprint_from_json(struct fingerprint *fingerprint, json_object *json)
{
	json_object *chain, *sender;
	size_t nr;

	*fingerprint = (struct fingerprint){ 0 };
	if (!json_object_object_get_ex(json, "chain", &chain) ||
	    !json_object_is_type(chain, json_type_array) ||
	    !read_string(json, "kind", fingerprint->kind, sizeof(fingerprint->kind)) ||
	    !fingerprint->kind[0] || strpbrk(fingerprint->kind, " /:"))
		return -EINVAL;
	nr = json_object_array_length(chain);
	if (nr > FINGERPRINT_FRAMES_MAX)
		return -EINVAL;
	for (; fingerprint->nr < nr; fingerprint->nr++) {
		if (!read_name(json_object_array_get_idx(chain, fingerprint->nr),
			       fingerprint->frames[fingerprint->nr]))
			return -EINVAL;
	}
	if (json_object_object_get_ex(json, "sender", &sender) && sender &&
	    !read_name(sender, fingerprint->sender))
		return -EINVAL;
	/* What the file says of the hash is not trusted. */
	fingerprint_seal(fingerprint);
	return 0;
}

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
	read_string(json, "sentence", file->sentence, sizeof(file->sentence));
	return found ? fingerprint_from_json(&file->fingerprint, found) : 0;
}

static char *file_text(const struct account *account)
{
	_cleanup_json_ json_object *json = json_object_new_object();
	const char *text;

	json_add_int(json, "version", FINGERPRINT_VERSION);
	json_add(json, "fingerprint", fingerprint_json(&account->fingerprint));
	json_add_text(json, "sentence", account->sentence);
	text = json_object_to_json_string_ext(json, JSON_C_TO_STRING_PRETTY |
							    JSON_C_TO_STRING_NOSLASHESCAPE);
	return text ? strdup(text) : NULL;
}

/* Root may write everywhere: that nobody else may is respected. */
static bool is_read_only(int dirfd, struct stat *st)
{
	return fstat(dirfd, st) || !(st->st_mode & 0222) || faccessat(dirfd, ".", W_OK, 0);
}

static int fill(int fd, const char *text, const struct stat *folder)
{
	/* Root's reports on the captures of others do not leave files that these cannot remove. */
	if (!geteuid() && fchown(fd, folder->st_uid, folder->st_gid))
		return -errno;
	if (fchmod(fd, folder->st_mode & 0666))
		return -errno;
	return write_all(fd, text, strlen(text)) ?: write_all(fd, "\n", 1);
}

int fingerprint_file_write(int dirfd, const struct account *account)
{
	_cleanup_close_ int fd = -1;
	_cleanup_free_ char *text = NULL;
	struct stat folder;
	char name[64];
	int r;

	if (is_read_only(dirfd, &folder))
		return 0;
	text = file_text(account);
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
