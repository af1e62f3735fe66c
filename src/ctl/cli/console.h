/* SPDX-License-Identifier: GPL-2.0-only */
/* Output of a command: results go to `out`, messages to `err`. With --log, messages go to the log
 * instead; a detached session writes results there too. */
#ifndef CTL_CLI_CONSOLE_H
#define CTL_CLI_CONSOLE_H

#include <perf_poke.h>
#include <stdbool.h>
#include <stdio.h>

#include "cli/logger.h"
#include "util.h"

struct console {
	FILE *out;
	FILE *err;
	struct logger log; /* when open, replaces `err` */
	bool detached;	   /* `log` replaces `out` too */
	/* With --json, formats an error as an allocated line; see json_use(). Errors then go to
	 * `out` too, and `err` takes no info messages. */
	char *(*json)(const char *error);
	bool verbose;  /* `err` takes debug messages too */
	bool drawn;    /* the status line is visible */
	size_t errors; /* messages at error level so far */
};

void console_log(struct console *con, enum perf_poke_log_level level, const char *msg);
void console_error(struct console *con, const char *format, ...) _printf_(2, 3);
void console_warn(struct console *con, const char *format, ...) _printf_(2, 3);
void console_info(struct console *con, const char *format, ...) _printf_(2, 3);

/* Writes and flushes a result, which ends in a newline. */
void console_result(struct console *con, const char *text);

/* Whether standard output failed. A full log does not count: nobody may be watching it. */
bool console_is_deaf(const struct console *con);

/* Whether there is a terminal for a status line. */
bool console_has_status(const struct console *con);

/* Draws the status line in place; any other output clears it. */
void console_status(struct console *con, const char *text);
void console_clear_status(struct console *con);

#endif
