// SPDX-License-Identifier: GPL-2.0-only
#include "cli/cli.h"

#include <string.h>
#include <sys/stat.h>
#include <syslog.h>
#include <time.h>

#include "clock.h"
#include "io.h"
#include "text.h"

static int open_journal(struct logger *log, char **why)
{
	if (!systemd_is_built())
		return say_why(why, -EOPNOTSUPP,
			       "--log 'journal': built without libsystemd (use a file)");
	if (!systemd_has_journal())
		return say_why(why, -ENOENT,
			       "--log 'journal': journald is not running (use a file)");
	*log = (struct logger){ .kind = LOGGER_JOURNAL };
	return 0;
}

uid_t sudo_user_id(void)
{
	const char *text = geteuid() ? NULL : getenv("SUDO_UID");
	char *end;
	unsigned long uid = text ? strtoul(text, &end, 10) : 0;

	return text && *text && !*end && uid < UINT32_MAX ? (uid_t)uid : 0;
}

static bool log_owner_is_trusted(uid_t uid)
{
	return !uid || uid == geteuid() || uid == sudo_user_id();
}

/* Neither waits for a reader of a FIFO nor becomes the owner of a terminal. */
static int open_log_file(int dirfd, const char *name, int flags)
{
	_cleanup_close_ int fd = openat(
		dirfd, name,
		O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC | O_NOCTTY | O_NONBLOCK | flags, 0600);
	struct stat st;

	if (fd < 0)
		return errno == ENXIO ? -EINVAL : -errno;
	if (fstat(fd, &st) || fcntl(fd, F_SETFL, O_APPEND))
		return -errno;
	/* Such as /dev/null. */
	if (S_ISCHR(st.st_mode))
		return TAKE_FD(fd);
	if (!S_ISREG(st.st_mode))
		return -EINVAL;
	/* Others could make a link, in a folder of theirs, to a file of ours. */
	return log_owner_is_trusted(st.st_uid) && st.st_nlink == 1 ? TAKE_FD(fd) : -EPERM;
}

/* Whether nobody else can put a link into the folder. */
static bool log_folder_is_private(int dirfd)
{
	struct stat st;

	return !fstat(dirfd, &st) && log_owner_is_trusted(st.st_uid) && !(st.st_mode & 0022);
}

static int open_log_by_path(const char *path)
{
	const char *slash = strrchr(path, '/');
	_cleanup_free_ char *folder =
		slash ? strndup(path, (size_t)(slash - path) + 1) : strdup(".");
	_cleanup_close_ int dirfd = -1;
	const char *name = slash && slash[1] ? slash + 1 : slash ? "." : path;
	int fd;

	if (!folder)
		return -ENOMEM;
	dirfd = open(folder, O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (dirfd < 0)
		return -errno;
	fd = open_log_file(dirfd, name, O_NOFOLLOW);
	return fd == -ELOOP && log_folder_is_private(dirfd) ? open_log_file(dirfd, name, 0) : fd;
}

static const char *open_log_strerror(int err)
{
	switch (err) {
	case -ELOOP:
		return "a symbolic link, in a folder that others can change";
	case -EPERM:
		return "a file of another user, or one with several names";
	case -EINVAL:
		return "not a regular file";
	default:
		return strerror(-err);
	}
}

int logger_open_path(struct logger *log, const char *where, char **why)
{
	int fd;

	if (!strcmp(where, "journal"))
		return open_journal(log, why);
	fd = open_log_by_path(where);
	if (fd < 0)
		return say_why(why, fd,
			       "--log '%s': cannot append to the file: %s (use a file in "
			       "an existing, writable folder)",
			       where, open_log_strerror(fd));
	*log = (struct logger){ .kind = LOGGER_FILE, .fd = fd };
	return 0;
}

int logger_open_at(struct logger *log, int dirfd, const char *name)
{
	int fd = open_log_file(dirfd, name, O_NOFOLLOW);

	if (fd < 0)
		return fd;
	*log = (struct logger){ .kind = LOGGER_FILE, .fd = fd };
	return 0;
}

void logger_release(struct logger *log)
{
	if (log->kind == LOGGER_FILE && close(log->fd))
		log->failed = true;
	log->kind = LOGGER_NONE;
}

static void logger_write_journal(struct logger *log, enum perf_poke_log_level level,
				 const char *text)
{
	static const int priorities[] = {
		[PERF_POKE_LOG_ERROR] = LOG_ERR,
		[PERF_POKE_LOG_WARN] = LOG_WARNING,
		[PERF_POKE_LOG_INFO] = LOG_INFO,
		[PERF_POKE_LOG_DEBUG] = LOG_DEBUG,
	};

	if (systemd_write_journal(priorities[level], text) < 0)
		log->failed = true;
}

char *logger_format_line(const struct logger *log, const char *line)
{
	uint64_t now = clock_ns(CLOCK_REALTIME);
	time_t seconds = (time_t)(now / NSEC_PER_SEC);
	char date[32], zone[8];
	struct tm tm;

	if (log->kind == LOGGER_JOURNAL)
		return strdup(line);
	localtime_r(&seconds, &tm);
	strftime(date, sizeof(date), "%FT%T", &tm);
	strftime(zone, sizeof(zone), "%z", &tm);
	return strfmt("%s.%06u%s perf-poke-ctl[%d]: %s\n", date,
		      (unsigned int)(now % NSEC_PER_SEC / 1000), zone, getpid(), line);
}

void logger_write_result(struct logger *log, enum perf_poke_log_level level, const char *text)
{
	if (log->kind == LOGGER_JOURNAL)
		logger_write_journal(log, level, text);
	/* One write() a message, so that messages of several writers do not mix. */
	else if (write_all(log->fd, text, strlen(text)))
		log->failed = true;
}
