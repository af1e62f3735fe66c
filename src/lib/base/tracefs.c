// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
#include "base/tracefs.h"

#include <fcntl.h>
#include <linux/mount.h>
#include <string.h>
#include <sys/syscall.h>

#include "util.h"

/* glibc has wrappers for these from 2.36 on only. */
static int sys_fsopen(const char *fs, unsigned int flags)
{
	return syscall(SYS_fsopen, fs, flags);
}

static int sys_fsconfig(int fd, unsigned int command)
{
	return syscall(SYS_fsconfig, fd, command, NULL, NULL, 0);
}

static int sys_fsmount(int fd, unsigned int flags, unsigned int attributes)
{
	return syscall(SYS_fsmount, fd, flags, attributes);
}

static int tracefs_mount_detached(void)
{
	_cleanup_close_ int fs = sys_fsopen("tracefs", FSOPEN_CLOEXEC);
	int fd;

	if (fs < 0 || sys_fsconfig(fs, FSCONFIG_CMD_CREATE) < 0)
		return -errno;
	fd = sys_fsmount(fs, FSMOUNT_CLOEXEC, MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV);
	return fd < 0 ? -errno : fd;
}

static int tracefs_open_at(const char *path)
{
	_cleanup_close_ int fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	if (fd < 0 || faccessat(fd, "events", R_OK | X_OK, 0))
		return -errno;
	return TAKE_FD(fd);
}

/* The second place comes last: where debugfs is mounted, looking there mounts tracefs, for good. */
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
		return "it is not mounted, and mounting it needs CAP_SYS_ADMIN";
	case -EACCES:
		return "no right to read its files in tracefs: needs CAP_DAC_READ_SEARCH";
	default:
		return strerror(-err);
	}
}

int tracefs_read(int tracefs, const char *name, char *text, size_t size)
{
	_cleanup_close_ int fd = openat(tracefs, name, O_RDONLY | O_CLOEXEC);
	ssize_t len = fd < 0 ? -1 : read(fd, text, size - 1);

	if (len < 0)
		return -errno;
	text[len] = '\0';
	text[strcspn(text, "\n")] = '\0';
	return 0;
}

bool tracefs_has_event(const char *name)
{
	_cleanup_close_ int tracefs = tracefs_open();
	char path[128];

	snprintf(path, sizeof(path), "events/%s/id", name);
	return tracefs >= 0 && !faccessat(tracefs, path, F_OK, 0);
}

uint64_t tracefs_printk_id(void)
{
	_cleanup_close_ int tracefs = tracefs_open();
	_cleanup_close_ int fd = tracefs < 0
					 ? -1
					 : openat(tracefs, "events/bpf_trace/bpf_trace_printk/id",
						  O_RDONLY | O_CLOEXEC);
	char text[32] = "";

	if (fd < 0 || read(fd, text, sizeof(text) - 1) <= 0)
		return 0;
	return strtoull(text, NULL, 10);
}
