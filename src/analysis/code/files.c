// SPDX-License-Identifier: GPL-2.0-only
#include "code/files.h"

#include <limits.h>
#include <stdbool.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>

#include "build_id.h"
#include "io.h"
#include "text.h"

#define VDSO_NAME "[vdso]"

/* Old tables have no sizes: shorter IDs are padded with zeros. */
static bool is_same_build_id(const struct build_id *a, const struct build_id *b)
{
	struct build_id one = {}, other = {};

	memcpy(one.bytes, a->bytes, a->size);
	memcpy(other.bytes, b->bytes, b->size);
	return a->size && b->size && !memcmp(one.bytes, other.bytes, sizeof(one.bytes));
}

static int open_with_build_id(const char *path, const struct build_id *id)
{
	_cleanup_close_ int fd = regular_open(AT_FDCWD, path);
	struct build_id found;

	if (fd < 0)
		return -ENOENT;
	if (!id->size)
		return TAKE_FD(fd);
	found = build_id_of_elf(fd);
	return is_same_build_id(&found, id) ? TAKE_FD(fd) : -ESTALE;
}

/* FOLDER/.build-id/00/1122334455/PART */
static int open_by_build_id(const char *folder, const struct build_id *id, const char *part,
			    char **path)
{
	_cleanup_free_ char *text = NULL;
	char hex[BUILD_ID_HEX_SIZE];
	int fd;

	if (!id->size)
		return -ENOENT;
	build_id_format(id, hex);
	text = strfmt("%s/.build-id/%.2s/%s%s", folder, hex, hex + 2, part);
	if (!text)
		return -ENOMEM;
	fd = open_with_build_id(text, id);
	if (fd >= 0)
		*path = TAKE_PTR(text);
	return fd;
}

/* Searches the given folder, then perf's own cache. */
static int open_from_caches(const struct files_places *places, const struct files_wanted *wanted,
			    const char *part, char **path)
{
	_cleanup_free_ char *own = NULL;
	const char *home = getenv("HOME");
	int fd = -ENOENT;

	if (places->buildid_dir)
		fd = open_by_build_id(places->buildid_dir, &wanted->id, part, path);
	if (fd >= 0 || fd == -ENOMEM || !home)
		return fd;
	own = strfmt("%s/.debug", home);
	return own ? open_by_build_id(own, &wanted->id, part, path) : -ENOMEM;
}

static int open_by_file_name(const struct files_places *places, const struct files_wanted *wanted,
			     char **path)
{
	_cleanup_free_ char *text = NULL;
	int fd;

	if (wanted->name[0] != '/')
		return -ENOENT;
	text = strfmt("%s%s", places->symfs ?: "", wanted->name);
	if (!text)
		return -ENOMEM;
	fd = open_with_build_id(text, &wanted->id);
	if (fd >= 0)
		*path = TAKE_PTR(text);
	return fd;
}

/* The vDSO of this process, if its build ID matches. */
static int open_own_vdso(const struct files_wanted *wanted, char **path)
{
	_cleanup_close_ int fd = -1;
	struct vdso vdso;
	int err;

	if (vdso_find_own(&vdso) || !is_same_build_id(&vdso.id, &wanted->id))
		return -ENOENT;
	fd = memfd_create("vdso", MFD_CLOEXEC);
	if (fd < 0)
		return -errno;
	err = write_all(fd, vdso.image, vdso.size);
	if (!err && lseek(fd, 0, SEEK_SET))
		err = -errno;
	if (err)
		return err;
	*path = strfmt("/proc/self/fd/%d", fd);
	return *path ? TAKE_FD(fd) : -ENOMEM;
}

int files_open_wanted(const struct files_places *places, const struct files_wanted *wanted,
		      char **path)
{
	bool is_vdso = !strcmp(wanted->name, VDSO_NAME);
	int fd = open_from_caches(places, wanted, is_vdso ? "/vdso" : "/elf", path);

	if (fd >= 0 || fd == -ENOMEM)
		return fd;
	return is_vdso ? open_own_vdso(wanted, path) : open_by_file_name(places, wanted, path);
}

char *files_explain_error(const struct files_places *places, const struct files_wanted *wanted,
			  int err)
{
	const char *home = getenv("HOME") ?: "", *folder = places->buildid_dir;
	const char *there = err == -ESTALE ? "is another one now" : "is not there";
	char hex[BUILD_ID_HEX_SIZE];

	build_id_format(&wanted->id, hex);
	if (!wanted->id.size)
		return strfmt("%s%s %s", places->symfs ?: "", wanted->name, there);
	if (wanted->name[0] != '/')
		return strfmt("no build id %s in %s%s%s/.debug", hex, folder ?: "",
			      folder ? " and " : "", home);
	return strfmt("no build id %s in %s%s%s/.debug; %s%s %s", hex, folder ?: "",
		      folder ? " and " : "", home, places->symfs ?: "", wanted->name, there);
}

int files_open_cached_debug(const struct files_places *places, const struct files_wanted *wanted)
{
	_cleanup_free_ char *path = NULL;
	int fd = open_from_caches(places, wanted, "/debug", &path);

	return fd == -ESTALE ? -ENOENT : fd;
}
