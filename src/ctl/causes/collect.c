// SPDX-License-Identifier: GPL-2.0-only
#include "causes/collect.h"

#include <string.h>
#include <sys/stat.h>

#include "bundle/bundle.h"
#include "capture/captures.h"
#include "capture/layout.h"
#include "cli/cli.h"
#include "text.h"

#define DEPTH_MAX 6

struct collecting {
	struct causes *causes;
	struct console *con;
	const char *archive; /* shown instead of the path of its unpacked folder; or NULL */
};

/* Continues with the others. */
static int complain(const struct collecting *c, const char *path, const char *why)
{
	console_error(c->con, "%s: %s", c->archive ?: path, why);
	c->causes->unreadable++;
	return 0;
}

static int take_capture(const struct collecting *c, const char *path)
{
	_cleanup_(capture_file_close) struct capture_file file = { 0 };
	_cleanup_(verdict_release) struct verdict verdict = { 0 };
	_cleanup_free_ char *why = NULL;
	int r = capture_file_open(&file, path, &why);

	if (r)
		return complain(c, path, why ?: reader_strerror(r));
	r = verdict_load(&verdict, c->con, path);
	if (r)
		c->causes->unreadable++;
	else if (!verdict.fingerprint.kind[0])
		c->causes->without++;
	else
		r = causes_add(c->causes,
			       &(struct sighting){
				       .path = c->archive ?: path,
				       .host = file.capture->hostname ?: "",
				       .sentence = verdict_sentence(&verdict),
				       .wall_ns = file.capture->wall_ns,
				       .latency_ns = file.capture->spike->latency_ns,
				       .cpu = file.capture->spike->cpu,
			       },
			       &verdict.fingerprint);
	return r == -ENOMEM ? r : 0;
}

static int take_archive(struct collecting *c, int fd, const char *path);

static bool is_archive(const char *name)
{
	size_t length = strlen(name);

	return length > 8 && !strcmp(name + length - 8, ".tar.zst");
}

static int take_folder(struct collecting *c, int dirfd, const char *path, int depth);

static int take_entry(struct collecting *c, int dirfd, const char *folder, const char *name,
		      int depth)
{
	_cleanup_free_ char *path = strfmt("%s/%s", folder, name);
	bool archive = !c->archive && is_archive(name);
	_cleanup_close_ int fd = openat(
		dirfd, name, O_RDONLY | O_CLOEXEC | O_NONBLOCK | (archive ? 0 : O_DIRECTORY));

	if (!path)
		return -ENOMEM;
	if (fd < 0 && (errno == ENOTDIR || errno == ENOENT))
		return 0;
	if (fd < 0)
		return complain(c, path, strerror(errno));
	return archive ? take_archive(c, fd, path) : take_folder(c, fd, path, depth + 1);
}

/* Hidden folders are being written. */
static int walk(struct collecting *c, int dirfd, const char *path, int depth)
{
	_cleanup_closedir_ DIR *dir = NULL;
	struct dirent *entry;
	int r = opendir_at(&dir, dirfd, ".");

	while (!r) {
		errno = 0;
		entry = readdir(dir);
		if (!entry)
			return errno ? complain(c, path, strerror(errno)) : 0;
		if (entry->d_name[0] != '.')
			r = take_entry(c, dirfd, path, entry->d_name, depth);
	}
	return r;
}

static int take_folder(struct collecting *c, int dirfd, const char *path, int depth)
{
	const char *slash = strrchr(path, '/');

	if (!faccessat(dirfd, CAPTURE_FILE_NAME, F_OK, AT_SYMLINK_NOFOLLOW) ||
	    layout_is_name(slash ? slash + 1 : path))
		return take_capture(c, path);
	return depth < DEPTH_MAX ? walk(c, dirfd, path, depth) : 0;
}

static int take_archive(struct collecting *c, int fd, const char *path)
{
	_cleanup_free_ char *why = NULL;
	struct partial unpacked;
	int r = unpack_temporary(&unpacked, fd, &why);

	c->archive = path;
	if (r)
		r = complain(c, path, why ?: reader_strerror(r));
	else
		r = take_folder(c, unpacked.fd, unpacked.path, 0);
	c->archive = NULL;
	partial_release(&unpacked);
	return r;
}

int collect(struct causes *causes, struct console *con, const char *path)
{
	struct collecting c = { .causes = causes, .con = con };
	_cleanup_close_ int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	struct stat st;

	if (fd < 0 || fstat(fd, &st))
		return complain(&c, path, strerror(errno));
	return S_ISDIR(st.st_mode) ? take_folder(&c, fd, path, 0) : take_archive(&c, fd, path);
}
