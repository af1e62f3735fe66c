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
		return options_explain(why, -EOPNOTSUPP,
				       "--log 'journal': built without libsystemd (use a file)");
	if (!systemd_has_journal())
		return options_explain(why, -ENOENT,
				       "--log 'journal': journald is not running (use a file)");
	*log = (struct logger){ .kind = LOGGER_JOURNAL };
	return 0;
}

static int open_file(struct logger *log, int dirfd, const char *name, int flags)
{
	int fd = openat(dirfd, name, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC | O_NOCTTY | flags,
			0600);

	if (fd < 0)
		return -errno;
	*log = (struct logger){ .kind = LOGGER_FILE, .fd = fd };
	return 0;
}

int logger_open(struct logger *log, const char *where, char **why)
{
	int r;

	if (!strcmp(where, "journal"))
		return open_journal(log, why);
	r = open_file(log, AT_FDCWD, where, 0);
	return r ? options_explain(why, r,
				   "--log '%s': cannot append to the file: %s (use a file in an "
				   "existing, writable folder)",
				   where, strerror(-r))
		 : 0;
}

int logger_open_at(struct logger *log, int dirfd, const char *name)
{
	struct stat st;
	int r = open_file(log, dirfd, name, O_NOFOLLOW | O_NONBLOCK);

	if (r)
		return r;
	if (!fstat(log->fd, &st) && S_ISREG(st.st_mode) && st.st_uid == geteuid() &&
	    st.st_nlink == 1)
		return 0;
	logger_release(log);
	return -EPERM;
}

void logger_release(struct logger *log)
{
	if (log->kind == LOGGER_FILE && close(log->fd))
		log->failed = true;
	log->kind = LOGGER_NONE;
}

/* One write() a message, so that messages of several writers do not mix. */
static void write_file(struct logger *log, const char *text)
{
	if (write_all(log->fd, text, strlen(text)))
		log->failed = true;
}

static void write_journal(struct logger *log, enum perf_poke_log_level level, const char *text)
{
	static const int priorities[] = {
		[PERF_POKE_LOG_ERROR] = LOG_ERR,
		[PERF_POKE_LOG_WARN] = LOG_WARNING,
		[PERF_POKE_LOG_INFO] = LOG_INFO,
		[PERF_POKE_LOG_DEBUG] = LOG_DEBUG,
	};

	if (systemd_journal(priorities[level], text) < 0)
		log->failed = true;
}

char *logger_line(const struct logger *log, const char *line)
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

void logger_result(struct logger *log, enum perf_poke_log_level level, const char *text)
{
	if (log->kind == LOGGER_JOURNAL)
		write_journal(log, level, text);
	else
		write_file(log, text);
}
