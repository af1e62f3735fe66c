// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
#include "machine/base.h"

#include <fcntl.h>
#include <linux/mount.h>
#include <string.h>
#include <sys/syscall.h>

#include "io.h"
#include "util.h"

/* glibc 2.36 is the first with wrappers of these system calls. */
static int tracefs_mount_detached(void)
{
	_cleanup_close_ int fs = syscall(SYS_fsopen, "tracefs", FSOPEN_CLOEXEC);
	int fd;

	if (fs < 0 || syscall(SYS_fsconfig, fs, FSCONFIG_CMD_CREATE, NULL, NULL, 0) < 0)
		return -errno;
	fd = syscall(SYS_fsmount, fs, FSMOUNT_CLOEXEC, MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV);
	return fd < 0 ? -errno : fd;
}

static int tracefs_open_at(const char *path)
{
	_cleanup_close_ int fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	if (fd < 0 || faccessat(fd, "events", R_OK | X_OK, 0))
		return -errno;
	return TAKE_FD(fd);
}

/* Try the path below debugfs last: looking it up mounts tracefs there permanently. */
int tracefs_open(void)
{
	int mounted = tracefs_open_at("/sys/kernel/tracing");
	int fd, err;

	if (mounted >= 0)
		return mounted;
	err = tracefs_mount_detached();
	if (err >= 0)
		return err;
	fd = tracefs_open_at("/sys/kernel/debug/tracing");
	if (fd >= 0)
		return fd;
	return mounted == -EACCES ? mounted : err;
}

const char *tracefs_strerror(int err)
{
	switch (err) {
	case -EPERM:
		return "tracefs is not mounted, and mounting it needs CAP_SYS_ADMIN";
	case -EACCES:
		return "reading files of tracefs needs CAP_DAC_READ_SEARCH";
	default:
		return strerror(-err);
	}
}

bool tracefs_has_event(const char *name)
{
	_cleanup_close_ int tracefs = tracefs_open();
	char path[128];

	snprintf(path, sizeof(path), "events/%s/id", name);
	return tracefs >= 0 && !faccessat(tracefs, path, F_OK, 0);
}

int tracefs_read_event(const char *name, const char *file, char *text, size_t size)
{
	_cleanup_close_ int tracefs = tracefs_open();
	size_t group = strcspn(name, ":/");
	char path[256];

	if (tracefs < 0)
		return tracefs;
	if (!name[group])
		return -ENOENT;
	snprintf(path, sizeof(path), "events/%.*s/%s/%s", (int)group, name, name + group + 1, file);
	return read_text_at(tracefs, path, text, size);
}

int tracefs_event_id(const char *name, uint64_t *id)
{
	char text[32];
	int err = tracefs_read_event(name, "id", text, sizeof(text));

	*id = err ? 0 : strtoull(text, NULL, 10);
	return err;
}

uint64_t tracefs_printk_id(void)
{
	uint64_t id;

	tracefs_event_id("bpf_trace/bpf_trace_printk", &id);
	return id;
}
