// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
#include "session/pins.h"

#include <string.h>
#include <sys/file.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/vfs.h>

#include <linux/magic.h>

#include "helpers.h"
#include "messages.h"

#define LONGEST "123456789012345678901234567890123456789012345678901234567890123"

TEST(knows_names)
{
	static const char *const good[] = { "a", "4711", "A.b-C_d", "...", ".a", "-", LONGEST };
	static const char *const bad[] = {
		"", ".", "..", "a/b", "/", "a b", "a:b", "a\n", "\303\244", LONGEST "4",
	};

	assert_int_equal(strlen(LONGEST), SESSION_NAME_MAX);
	for (size_t i = 0; i < ARRAY_SIZE(good); i++)
		assert_true(session_name_valid(good[i]));
	for (size_t i = 0; i < ARRAY_SIZE(bad); i++)
		assert_false(session_name_valid(bad[i]));
}

TEST(folders_have_no_dots)
{
	static const char *const names[] = { "a", "a.b..c", "...", ".a", LONGEST };
	char folder[SESSION_NAME_MAX + 1], name[SESSION_NAME_MAX + 1];

	for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
		pins_folder_name(folder, names[i]);
		assert_null(strchr(folder, '.'));
		pins_session_name(name, folder);
		assert_string_equal(name, names[i]);
	}
	/* With any entries made by others. */
	pins_session_name(name, LONGEST "and more");
	assert_string_equal(name, LONGEST);
}

TEST_IN_FOLDER(lock_tells_life)
{
	_cleanup_close_ int owner = -1;
	_cleanup_close_ int other = -1;
	_cleanup_close_ int third = -1;

	assert_int_equal(pins_open_session(folder->fd, "s"), -ENOENT);
	assert_int_equal(mkdirat(folder->fd, "s", 0700), 0);
	owner = pins_open_session(folder->fd, "s");
	other = pins_open_session(folder->fd, "s");
	third = pins_open_session(folder->fd, "s");
	assert_int_equal(flock(owner, LOCK_EX), 0);
	assert_true(pins_is_alive(other));
	assert_int_equal(pins_remove_dead(folder->fd, "s", other), -EWOULDBLOCK);
	assert_true(exists("s"));

	/* The controller is killed while another process looks at the session. */
	closep(&owner);
	assert_int_equal(flock(third, LOCK_SH), 0);
	assert_false(pins_is_alive(other));
	assert_int_equal(pins_remove_dead(folder->fd, "s", other), -EWOULDBLOCK);
	assert_int_equal(flock(third, LOCK_UN), 0);
	assert_int_equal(pins_remove_dead(folder->fd, "s", other), 0);
	assert_false(exists("s"));
}

TEST_IN_FOLDER(leaves_a_successor_alone)
{
	_cleanup_close_ int old = -1;

	assert_int_equal(mkdirat(folder->fd, "s", 0700), 0);
	old = pins_open_session(folder->fd, "s");
	assert_int_equal(unlinkat(folder->fd, "s", AT_REMOVEDIR), 0);
	assert_int_equal(mkdirat(folder->fd, "s", 0700), 0);
	assert_int_equal(pins_remove_dead(folder->fd, "s", old), 0);
	assert_true(exists("s"));
}

/* -- Opening, with a fake bpffs and one failing call. */

static const char *bpffs;	       /* NULL: nothing is replaced */
static int nr_calls, failing, failure; /* the call that fails, in counting; 0: none */

int __real_mkdir(const char *path, mode_t mode);
int __real_rmdir(const char *path);
int __real_open64(const char *path, int flags, ...);
int __real_openat64(int dirfd, const char *path, int flags, ...);
int __real_mkdirat(int dirfd, const char *path, mode_t mode);
int __real_flock(int fd, int operation);
int __real_fchmod(int fd, mode_t mode);

/* Valid until another path is asked for. */
static const char *in_bpffs(const char *path)
{
	static char other[256];
	size_t len = strlen(PINS_BPFFS);

	if (!bpffs || strncmp(path, PINS_BPFFS, len))
		return path;
	snprintf(other, sizeof(other), "%s%s", bpffs, path + len);
	return other;
}

static bool fails(void)
{
	if (!bpffs || ++nr_calls != failing)
		return false;
	errno = failure;
	return true;
}

int __wrap_statfs64(const char *path, struct statfs *fs)
{
	fs->f_type = BPF_FS_MAGIC;
	return 0;
}

int __wrap_mkdir(const char *path, mode_t mode)
{
	return fails() ? -1 : __real_mkdir(in_bpffs(path), mode);
}

int __wrap_rmdir(const char *path)
{
	return __real_rmdir(in_bpffs(path));
}

int __wrap_open64(const char *path, int flags, ...)
{
	return fails() ? -1 : __real_open64(in_bpffs(path), flags);
}

int __wrap_openat64(int dirfd, const char *path, int flags, ...)
{
	return fails() ? -1 : __real_openat64(dirfd, path, flags);
}

int __wrap_mkdirat(int dirfd, const char *path, mode_t mode)
{
	return fails() ? -1 : __real_mkdirat(dirfd, path, mode);
}

int __wrap_flock(int fd, int operation)
{
	return fails() ? -1 : __real_flock(fd, operation);
}

int __wrap_fchmod(int fd, mode_t mode)
{
	return fails() ? -1 : __real_fchmod(fd, mode);
}

int __wrap_trigger_pin(const struct trigger *trigger, const char *folder)
{
	static const char *const names[] = { "poke", "cpus", "session" };
	char path[300];

	for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
		if (fails())
			return -errno;
		snprintf(path, sizeof(path), "%s/%s", in_bpffs(folder), names[i]);
		assert_int_equal(__real_mkdir(path, 0700), 0);
	}
	return 0;
}

int __wrap_trigger_rtla_fd(const struct trigger *trigger)
{
	return -ENOENT;
}

int64_t __wrap_rtla_offer_program(int prog_fd)
{
	return prog_fd;
}

void __wrap_rtla_remove_map(void)
{
}

static int highest_fd(void)
{
	int fd = dup(0);

	close(fd);
	return fd;
}

/* If any call fails, either the session has all its pins or there is none. */
TEST_IN_FOLDER(leaves_nothing_half)
{
	static const int failures[] = { EMFILE, ENOMEM, EINTR, ENOENT };
	int opening;
	struct messages said = {};
	const struct log log = { messages_add, &said };
	int fd = highest_fd(), err = -1;
	struct pins *pins;

	for (size_t i = 0; i < ARRAY_SIZE(failures); i++) {
		failing = 0;
		do {
			failing++;
			nr_calls = 0;
			failure = failures[i];
			bpffs = folder->path;
			err = session_pins_open(&pins, "s", NULL, &log);
			opening = nr_calls;
			nr_calls = failing;
			if (!err)
				assert_true(exists("perf-poke/s/session"));
			if (!err)
				session_pins_free(pins);
			bpffs = NULL;
			assert_false(exists("perf-poke"));
			assert_int_equal(highest_fd(), fd);
		} while (opening >= failing);
		assert_int_equal(err, 0);
		assert_true(failing > 9);
	}
}

/* Nobody holds its lock. */
TEST_IN_FOLDER(removes_dead_sessions)
{
	struct messages said = {};
	const struct log log = { messages_add, &said };
	struct pins *pins;

	failing = 0;
	bpffs = folder->path;
	assert_int_equal(mkdirat(folder->fd, "perf-poke", 0700), 0);
	assert_int_equal(mkdirat(folder->fd, "perf-poke/dead", 0700), 0);
	assert_int_equal(session_pins_open(&pins, "s", NULL, &log), 0);
	assert_false(exists("perf-poke/dead"));
	assert_true(exists("perf-poke/s"));
	session_pins_free(pins);
	bpffs = NULL;
}
