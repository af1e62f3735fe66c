/* SPDX-License-Identifier: GPL-2.0-only */
/* What --log names: a file that lines are appended to, or the journal. */
#ifndef CTL_CLI_LOGGER_H
#define CTL_CLI_LOGGER_H

#include <perf_poke.h>
#include <stdbool.h>

#include "util.h"

enum logger_kind {
	LOGGER_NONE,
	LOGGER_FILE,
	LOGGER_JOURNAL,
};

struct logger {
	enum logger_kind kind;
	int fd;	     /* of LOGGER_FILE */
	bool failed; /* something could not be written */
};

/*
 * `where` is a path, or "journal". Returns 0, or a negative errno with *why, for the caller to
 * free, naming the option.
 */
int logger_open(struct logger *log, const char *where, char **why) _must_check_;

/* A file of the caller's in a folder where others may have planted something. Returns 0 or a
 * negative errno. */
int logger_open_at(struct logger *log, int dirfd, const char *name) _must_check_;

/* Closes it: there is none then. */
void logger_release(struct logger *log);

/* One line, without its end. In a file it gets the time and the process. */
void logger_line(struct logger *log, enum perf_poke_log_level level, const char *line);

/* A result as it is, lines with their ends, in one piece. */
void logger_result(struct logger *log, enum perf_poke_log_level level, const char *text);

#endif
