// SPDX-License-Identifier: GPL-2.0-only
#include "bundle/binaries.h"

#include <string.h>

#include "bundle/traced.h"
#include "capture/layout.h"

/* Files that are missing are named, up to so many: a machine that was upgraded misses all. */
#define NAMED_MAX 8

/* Where perf looks: by build id, then by what it is. */
static int part_name(const struct traced_file *file, const char *part, char *name, size_t size)
{
	char hex[FILES_HEX_SIZE];

	files_hex(&file->id, hex);
	return snprintf(name, size, LAYOUT_BUILDID "/.build-id/%.2s/%s%s%s", hex, hex + 2,
			*part ? "/" : "", part);
}

static int pack_part(struct binaries *binaries, const struct traced_file *file, const char *part,
		     int fd, char **why)
{
	char folder[128], name[128];
	int r;

	part_name(file, "", folder, sizeof(folder));
	part_name(file, part, name, sizeof(name));
	r = pack_folder(binaries->pack, folder, why);
	return r ? r : pack_file(binaries->pack, name, fd, why);
}

/* The recorder puts the vDSO into a capture of user space. */
static bool is_in_capture(const struct binaries *binaries, const struct traced_file *file)
{
	char name[128];

	part_name(file, "vdso", name, sizeof(name));
	return file->is_vdso && !faccessat(binaries->dirfd, name, F_OK, AT_SYMLINK_NOFOLLOW);
}

/* -ENOENT and -ESTALE are of the file, and no failure. */
static int pack_traced(struct binaries *binaries, const struct traced_file *file, char **why)
{
	_cleanup_close_ int fd = -1, debug = -1;
	int r;

	if (is_in_capture(binaries, file))
		return 0;
	fd = traced_open(file);
	if (fd < 0)
		return fd;
	r = pack_part(binaries, file, file->is_vdso ? "vdso" : "elf", fd, why);
	debug = r ? -1 : traced_open_debug(file, fd);
	return debug < 0 ? r : pack_part(binaries, file, "debug", debug, why);
}

static void tell_missing(const struct binaries *binaries, const struct traced_file *file, int r,
			 size_t nr)
{
	if (nr < NAMED_MAX)
		console_warn(binaries->con, "left out %s: %s", file->name,
			     r == -ESTALE ? "it is not the one that was traced any more"
					  : "it is not here");
}

static bool was_executed(const struct binaries *binaries, const struct build_id *id)
{
	for (size_t i = 0; i < binaries->nr_executed; i++) {
		if (!memcmp(&binaries->executed[i], id, sizeof(*id)))
			return true;
	}
	return false;
}

int binaries_pack(struct binaries *binaries, int fd, char **why)
{
	struct traced_file *files = NULL;
	size_t nr = 0, missing = 0;
	int r = traced_read(fd, &files, &nr, why);

	for (size_t i = 0; i < nr && !r; i++) {
		if (binaries->executed && !was_executed(binaries, &files[i].id))
			continue;
		r = pack_traced(binaries, &files[i], why);
		if (r == -ENOENT || r == -ESTALE) {
			tell_missing(binaries, &files[i], r, missing++);
			r = 0;
		} else if (!r) {
			binaries->nr++;
		}
	}
	if (missing > NAMED_MAX)
		console_warn(binaries->con, "and %zu more that were traced are left out",
			     missing - NAMED_MAX);
	traced_free(files, nr);
	return r;
}
