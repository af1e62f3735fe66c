// SPDX-License-Identifier: GPL-2.0-only
#include "session/perf_files.h"

#include <signal.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>

#include "array.h"
#include "task.h"
#include "text.h"

/* In perf's file names: 2026112101332074. */
#define TIMESTAMP_DIGITS 16

static int add_file(struct perf_files *found, const char *path)
{
	struct stat st;

	if (stat(path, &st))
		return 0;
	if (array_grow(&found->files, found->nr, sizeof(*found->files)))
		return -ENOMEM;
	found->files[found->nr] = (struct perf_file){
		.path = strdup(path),
		.dev = st.st_dev,
		.ino = st.st_ino,
	};
	return found->files[found->nr++].path ? 0 : -ENOMEM;
}

static bool is_dump(const char *name, const char *base)
{
	size_t length = strlen(base);

	return !strncmp(name, base, length) && name[length] == '.' &&
	       strspn(name + length + 1, "0123456789") == TIMESTAMP_DIGITS &&
	       !name[length + 1 + TIMESTAMP_DIGITS];
}

static int compare(const void *a, const void *b)
{
	return strcmp(((const struct perf_file *)a)->path, ((const struct perf_file *)b)->path);
}

/* Sorted by time. */
static int find_dumps(struct perf_files *found, const char *output)
{
	const char *slash = strrchr(output, '/');
	const char *base = slash ? slash + 1 : output;
	int length = (int)(base - output);
	_cleanup_closedir_ DIR *dir = NULL;
	_cleanup_free_ char *folder = NULL;
	struct dirent *entry;

	folder = strfmt("%.*s.", length, output);
	if (!folder)
		return -ENOMEM;
	if (opendir_at(&dir, AT_FDCWD, folder))
		return 0;
	while ((entry = readdir(dir))) {
		_cleanup_free_ char *path = NULL;

		if (!is_dump(entry->d_name, base))
			continue;
		path = strfmt("%.*s%s", length, output, entry->d_name);
		if (!path || add_file(found, path))
			return -ENOMEM;
	}
	if (found->nr)
		qsort(found->files, found->nr, sizeof(*found->files), compare);
	return 0;
}

int perf_files_find(struct perf_files *found, const char *output)
{
	int r = add_file(found, output);

	return r ? r : find_dumps(found, output);
}

void perf_files_subtract(struct perf_files *found, const struct perf_files *before)
{
	size_t left = 0;

	for (size_t i = 0; i < found->nr; i++) {
		struct perf_file *file = &found->files[i];
		bool old = false;

		for (size_t j = 0; j < before->nr; j++)
			old |= before->files[j].dev == file->dev &&
			       before->files[j].ino == file->ino;
		if (old)
			free(file->path);
		else
			found->files[left++] = *file;
	}
	found->nr = left;
}

static int make_folder(const char *folder, char **made)
{
	time_t now = time(NULL);
	struct tm tm;
	char date[32];

	strftime(date, sizeof(date), "%Y%m%d-%H%M%S", localtime_r(&now, &tm));
	*made = strfmt("%s/perf-%s-%d", folder, date, getpid());
	if (!*made)
		return -ENOMEM;
	if (mkdir(folder, 0700) && errno != EEXIST)
		return -errno;
	return mkdir(*made, 0700) ? -errno : 0;
}

bool perf_files_is_folder(const char *name)
{
	int length = 0;

	sscanf(name, "perf-%*8[0-9]-%*6[0-9]-%*[0-9]%n", &length);
	return length && !name[length];
}

static int move(struct perf_file *file, const char *folder)
{
	const char *slash = strrchr(file->path, '/');
	_cleanup_free_ char *path = strfmt("%s/%s", folder, slash ? slash + 1 : file->path);

	if (!path || rename(file->path, path))
		return -errno;
	free(file->path);
	file->path = TAKE_PTR(path);
	return 0;
}

/* Runs in the folder, because the script perf-archive cannot handle blanks in paths. */
static int run_archive(const char *perf, const char *folder, const char *name)
{
	pid_t pid = fork();
	int status, r;

	if (pid < 0)
		return -errno;
	if (!pid) {
		sigset_t set;

		sigemptyset(&set);
		sigprocmask(SIG_SETMASK, &set, NULL);
		signal(SIGPIPE, SIG_DFL);
		dup2(STDERR_FILENO, STDOUT_FILENO);
		if (!chdir(folder))
			execlp(perf, perf, "archive", name, NULL);
		_exit(127);
	}
	r = pid_wait(pid, &status);
	if (r)
		return r;
	return WIFEXITED(status) && !WEXITSTATUS(status) ? 0 : -ENOEXEC;
}

int perf_files_archive(struct perf_files *files, const char *folder, const char *perf,
		       struct console *con)
{
	_cleanup_free_ char *made = NULL;
	_cleanup_free_ char *absolute = NULL;
	int r;

	/* The path of perf may be relative to the working directory. */
	absolute = strchr(perf, '/') ? realpath(perf, NULL) : strdup(perf);
	r = absolute ? make_folder(folder, &made) : -errno;
	if (r) {
		console_error(con, "--archive: '%s': %s", made ?: folder, strerror(-r));
		return r;
	}
	for (size_t i = 0; i < files->nr; i++) {
		struct perf_file *file = &files->files[i];
		int failed = move(file, made);

		if (failed) {
			console_error(con, "--archive: cannot move '%s': %s", file->path,
				      failed == -EXDEV ? "--output is on another file system"
						       : strerror(-failed));
			r = failed;
			continue;
		}
		if (run_archive(absolute, made, strrchr(file->path, '/') + 1))
			console_warn(con,
				     "--archive: '%s archive' failed for %s; its binaries were not "
				     "archived",
				     perf, file->path);
	}
	/* Removes the folder if nothing was moved. */
	rmdir(made);
	return r;
}

void perf_files_release(struct perf_files *files)
{
	for (size_t i = 0; i < files->nr; i++)
		free(files->files[i].path);
	free(files->files);
	*files = (struct perf_files){ 0 };
}
