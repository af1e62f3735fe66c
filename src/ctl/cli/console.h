/* SPDX-License-Identifier: GPL-2.0-only */
/* Where lines go: results to `out`, what a person should know to `err`, JSON objects to `out`. With
 * --log what is for `err` goes there instead, and of a session in the background results too. */
#ifndef CTL_CLI_CONSOLE_H
#define CTL_CLI_CONSOLE_H

#include <json-c/json.h>
#include <perf_poke.h>
#include <stdbool.h>
#include <stdio.h>

#include "cli/logger.h"
#include "util.h"

struct console {
	FILE *out;
	FILE *err;
	struct logger log; /* when open, instead of `err` */
	bool detached;	   /* `log` instead of `out` too */
	bool json; /* `out` takes one JSON object a line, errors too; `err` takes no info lines */
	bool verbose;  /* `err` takes debug lines too */
	bool drawn;    /* the status line is on the screen */
	size_t errors; /* lines at error level so far */
};

void console_log(struct console *con, enum perf_poke_log_level level, const char *msg);
void console_error(struct console *con, const char *format, ...) _printf_(2, 3);
void console_warn(struct console *con, const char *format, ...) _printf_(2, 3);
void console_info(struct console *con, const char *format, ...) _printf_(2, 3);

/* Write a result, which ends in a newline, and flush it. */
void console_result(struct console *con, const char *text);

/* Whether results cannot be written any more and nobody can follow. A log that is full does not
 * count: nobody may be looking. */
bool console_is_deaf(const struct console *con);

/* Write one line and flush it. Takes the object. */
void console_json(struct console *con, json_object *object);

/* Whether there is a terminal for a status line. */
bool console_has_status(const struct console *con);

/* Show, or rewrite in place, the status line; any other line clears it. */
void console_status(struct console *con, const char *text);
void console_clear_status(struct console *con);

#endif
