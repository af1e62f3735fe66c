/* SPDX-License-Identifier: GPL-2.0-only */
/* The target of --log: a file to append to, or the journal. */
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
	bool failed; /* a write failed */
};

/* `where` is a path or "journal". Returns 0, or a negative errno with *why (allocated). */
int logger_open(struct logger *log, const char *where, char **why) _must_check_;

/* Opens a file in a folder that others can write to: refuses symbolic links, files of other users
 * and files with several names. Returns 0 or a negative errno. */
int logger_open_at(struct logger *log, int dirfd, const char *name) _must_check_;

void logger_release(struct logger *log);

/* Writes a message without newline. A file gets the time and the PID in front. */
void logger_line(struct logger *log, enum perf_poke_log_level level, const char *line);

/* Writes a result verbatim, in one piece. */
void logger_result(struct logger *log, enum perf_poke_log_level level, const char *text);

#endif
