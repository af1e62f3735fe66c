// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
/* The folder for captures: its allowed owners, and the owners of its content. */
#include "capture/capture.h"

#include <fcntl.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>

#include "helpers.h"
#include "io.h"
#include "messages.h"

#define STRANGER 65534

static const struct log silent;
static char path[4096];

int __real_mkdir(const char *name, mode_t mode);
int __wrap_mkdir(const char *name, mode_t mode);

/* A folder that somebody renames to the name of the new one. */
static char other[4096];

int __wrap_mkdir(const char *name, mode_t mode)
{
	int err = __real_mkdir(name, mode);

	if (!err && other[0] && !strcmp(name, path))
		assert_int_equal(rmdir(path) ?: rename(other, path), 0);
	return err;
}

static int setup(void **state)
{
	struct folder *folder;

	if (make_folder(state))
		return -1;
	folder = *state;
	snprintf(path, sizeof(path), "%s/captures", folder->path);
	return 0;
}

static struct output open_output(void)
{
	struct output output;

	assert_int_equal(output_open(&output, path, 0, &silent), 0);
	return output;
}

/* In the folder for captures. */
static bool has(const char *name)
{
	char full[4200];

	snprintf(full, sizeof(full), "captures/%s", name);
	return exists(full);
}

TEST_WITH(is_made_and_removed, setup, remove_folder)
{
	mode_t mask = umask(0);
	struct output output = open_output();
	struct stat st;

	umask(mask);
	assert_int_equal(fstat(output.fd, &st), 0);
	assert_int_equal(st.st_mode & 07777, 0700);
	assert_int_equal(fstat(output.work, &st), 0);
	assert_int_equal(st.st_mode & 07777, 0700);
	output_close(&output);
	assert_int_equal(access(path, F_OK), -1);
	output_close(&output);
}

TEST_WITH(stays_when_it_was_there, setup, remove_folder)
{
	struct output output;

	assert_int_equal(mkdir(path, 0755), 0);
	output = open_output();
	output_close(&output);
	assert_int_equal(rmdir(path), 0);
}

/* Also within a process: its sessions do not share a folder. */
TEST_WITH(each_has_its_own, setup, remove_folder)
{
	struct output one = open_output(), other = open_output();

	assert_string_not_equal(one.work_name, other.work_name);
	put_file(one.work, "kernel/kallsyms", "one");
	put_file(other.work, "kernel/kallsyms", "other");
	output_close(&one);
	assert_int_equal(faccessat(other.work, "kernel/kallsyms", F_OK, 0), 0);
	assert_false(has(one.work_name));
	assert_true(has(other.work_name));
	output_close(&other);
}

static void put_mark(int dirfd, const char *name)
{
	_cleanup_close_ int fd = openat(dirfd, name, O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	assert_int_equal(fchmod(fd, 0700), 0);
	assert_int_equal(tree_mark_own(fd), 0);
}

/* Another user who may read the folder and locks it changes nothing. */
TEST_WITH(sweeps_what_is_nobodys, setup, remove_folder)
{
	_cleanup_close_ int foreign = -1;
	struct output living, next;

	assert_int_equal(mkdir(path, 0755), 0);
	foreign = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	assert_int_equal(flock(foreign, LOCK_EX), 0);
	living = open_output();
	put_file(living.work, "12/perf.data/data", "half");
	/* What a killed session left; what a user named so. */
	put_file(living.fd, OUTPUT_WORK "1-1/12/perf.data/data", "half");
	put_mark(living.fd, OUTPUT_WORK "1-1");
	put_file(living.fd, OUTPUT_WORK "notes/mine", "of the user");
	put_file(living.fd, ".partial-abcdef/data", "an archive that is opened");
	put_file(living.fd, "20260101-000000.000-cpu1-50us/capture.json", "{}");
	put_file(folder->fd, "precious/file", "mine");
	assert_int_equal(symlinkat(folder->path, living.fd, OUTPUT_WORK "1-1/12/link"), 0);
	assert_int_equal(symlinkat(folder->path, living.fd, OUTPUT_WORK "1-2"), 0);
	assert_int_equal(flock(foreign, LOCK_UN), 0);

	next = open_output();
	assert_int_equal(faccessat(living.work, "12/perf.data/data", F_OK, 0), 0);
	assert_true(has(living.work_name));
	assert_false(has(OUTPUT_WORK "1-1"));
	assert_true(has(OUTPUT_WORK "notes/mine"));
	assert_true(has(".partial-abcdef/data"));
	assert_true(has("20260101-000000.000-cpu1-50us/capture.json"));
	/* Targets of links stay. */
	assert_true(exists("precious/file"));
	output_close(&next);
	output_close(&living);
}

static void check_refused(const char *output, uid_t owner, int error, const char *problem,
			  const char *about)
{
	struct messages messages = {};
	const struct log log = { messages_add, &messages };
	struct output opened;

	assert_int_equal(output_open(&opened, output, owner, &log), error);
	assert_int_equal(messages.nr, 1);
	assert_int_equal(messages.level, PERF_POKE_LOG_ERROR);
	assert_non_null(strstr(messages.text, "output '"));
	assert_non_null(strstr(messages.text, problem));
	assert_non_null(strstr(messages.text, about));
	assert_int_equal(opened.fd, -1);
	assert_int_equal(opened.work, -1);
}

TEST_WITH(refuses_what_is_no_folder, setup, remove_folder)
{
	char other[4200];

	put_file(folder->fd, "captures", "");
	check_refused(path, 0, -ENOTDIR, "cannot open this folder", strerror(ENOTDIR));
	snprintf(other, sizeof(other), "%s/below", path);
	check_refused(other, 0, -ENOTDIR, "cannot make this folder", strerror(ENOTDIR));
	snprintf(other, sizeof(other), "%s/no/such", folder->path);
	check_refused(other, 0, -ENOTDIR, "cannot make this folder", strerror(ENOENT));
}

/* Root may write anywhere, so the test becomes nobody. */
TEST_WITH(refuses_a_read_only_folder, setup, remove_folder)
{
	uid_t uid = geteuid();

	assert_int_equal(chmod(folder->path, 0755), 0);
	assert_int_equal(mkdir(path, 0755), 0);
	assert_int_equal(chmod(path, 0555), 0);
	if (!uid)
		assert_int_equal(seteuid(STRANGER), 0);
	check_refused(path, 0, -EACCES, "cannot write to this folder", strerror(EACCES));
	assert_int_equal(seteuid(uid), 0);
	assert_int_equal(chmod(path, 0755), 0);
}

TEST_WITH(refuses_what_others_can_change, setup, remove_folder)
{
	static const char problem[] = "other users can change";
	struct output output;

	assert_int_equal(mkdir(path, 0700), 0);
	assert_int_equal(chmod(path, 0777), 0);
	check_refused(path, 0, -EPERM, problem, "mode 0777");
	assert_int_equal(chmod(path, 01777), 0);
	output = open_output();
	output_close(&output);
	assert_int_equal(chmod(path, 0755), 0);
	assert_int_equal(chmod(folder->path, 0777), 0);
	check_refused(path, 0, -EPERM, problem, folder->path);
	assert_int_equal(chmod(folder->path, 01777), 0);
	output = open_output();
	output_close(&output);
	assert_int_equal(chmod(folder->path, 0755), 0);
	/* A new folder is not used either, and is removed. */
	assert_int_equal(rmdir(path), 0);
	assert_int_equal(chmod(folder->path, 0777), 0);
	check_refused(path, 0, -EPERM, problem, folder->path);
	assert_int_equal(access(path, F_OK), -1);
}

TEST_WITH(refuses_what_is_others, setup, remove_folder)
{
	struct output output;
	char target[4200];

	if (geteuid())
		skip();
	assert_int_equal(mkdir(path, 0700), 0);
	assert_int_equal(chown(path, STRANGER, STRANGER), 0);
	check_refused(path, 0, -EPERM, "other users can change", "owner 65534");
	check_refused(path, 1000, -EPERM, "other users can change", "owner 65534");
	assert_int_equal(output_open(&output, path, STRANGER, &silent), 0);
	output_close(&output);
	/* The user's private group is allowed; other groups are not. */
	assert_int_equal(chmod(path, 0775), 0);
	assert_int_equal(output_open(&output, path, STRANGER, &silent), 0);
	output_close(&output);
	assert_int_equal(chown(path, STRANGER, 100), 0);
	check_refused(path, STRANGER, -EPERM, "other users can change", "group 100");
	assert_int_equal(rmdir(path), 0);

	snprintf(target, sizeof(target), "%s/target", folder->path);
	assert_int_equal(mkdir(target, 0700), 0);
	assert_int_equal(symlink(target, path), 0);
	output = open_output();
	output_close(&output);
	assert_int_equal(lchown(path, STRANGER, STRANGER), 0);
	check_refused(path, 0, -ELOOP, "cannot open this folder", strerror(ELOOP));
}

TEST_WITH(keeps_its_numbers, setup, remove_folder)
{
	struct output output = open_output();
	_cleanup_free_ char *note = NULL;
	_cleanup_free_ char *moved = NULL;
	int fd = output.fd, work = output.work;

	assert_int_equal(output_renew(&output, &note), 0);
	assert_null(note);
	assert_null(output_moved(&output));
	put_file(work, "kernel/kallsyms", "x");
	assert_int_equal(tree_remove(fd, output.work_name), 0);
	assert_int_equal(rmdir(path), 0);
	moved = output_moved(&output);
	assert_non_null(strstr(moved, "(deleted)"));
	assert_int_equal(output_renew(&output, &note), 1);
	assert_non_null(strstr(note, path));
	assert_int_equal(output.fd, fd);
	assert_int_equal(output.work, work);
	put_file(output.work, "file", "x");
	assert_true(has(output.work_name));
	output_close(&output);
	assert_int_equal(access(path, F_OK), -1);
}

TEST_WITH(of_others_is_not_given_away, setup, remove_folder)
{
	struct folder *folder = *state;
	struct output output;
	struct stat st;

	if (geteuid())
		skip();
	put_file(folder->fd, "other/precious", "");
	snprintf(other, sizeof(other), "%s/other", folder->path);
	assert_int_equal(output_open(&output, path, STRANGER, &silent), 0);
	other[0] = '\0';
	assert_int_equal(fstat(output.fd, &st), 0);
	assert_int_equal(st.st_uid, 0);
	output_close(&output);
	assert_true(has("precious"));
}
