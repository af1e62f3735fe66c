// SPDX-License-Identifier: GPL-2.0-only
#include "cli/console.h"

#include <stdarg.h>
#include <string.h>
#include <sys/ioctl.h>

#include "printable.h"

static void put_result(struct console *con, enum perf_poke_log_level level, const char *text)
{
	if (con->detached) {
		logger_result(&con->log, level, text);
		return;
	}
	fputs(text, con->out);
	fflush(con->out);
}

void console_log(struct console *con, enum perf_poke_log_level level, const char *msg)
{
	enum perf_poke_log_level least = con->json ? PERF_POKE_LOG_WARN : PERF_POKE_LOG_INFO;
	_cleanup_free_ char *json = NULL;
	_cleanup_free_ char *line = NULL;

	if (level > (con->verbose ? PERF_POKE_LOG_DEBUG : least))
		return;
	if (level == PERF_POKE_LOG_ERROR)
		con->errors++;
	if (con->json && level == PERF_POKE_LOG_ERROR) {
		json = con->json(msg);
		if (json)
			put_result(con, level, json);
		/* Text and JSON would go to the same log. */
		if (con->detached)
			return;
	}
	line = strdup(msg);
	if (!line)
		return;
	console_clear_status(con);
	printable(line);
	if (con->log.kind)
		logger_line(&con->log, level, line);
	else
		fprintf(con->err, "perf-poke-ctl: %s\n", line);
}

static void _printf_(3, 0) log_formatted(struct console *con, enum perf_poke_log_level level,
					 const char *format, va_list args)
{
	_cleanup_free_ char *msg = NULL;

	if (vasprintf(&msg, format, args) < 0)
		msg = NULL;
	console_log(con, level, msg ?: strerror(ENOMEM));
}

void console_error(struct console *con, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	log_formatted(con, PERF_POKE_LOG_ERROR, format, args);
	va_end(args);
}

void console_warn(struct console *con, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	log_formatted(con, PERF_POKE_LOG_WARN, format, args);
	va_end(args);
}

void console_info(struct console *con, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	log_formatted(con, PERF_POKE_LOG_INFO, format, args);
	va_end(args);
}

void console_result(struct console *con, const char *text)
{
	put_result(con, PERF_POKE_LOG_INFO, text);
}

bool console_is_deaf(const struct console *con)
{
	return !con->detached && ferror(con->out);
}

bool console_has_status(const struct console *con)
{
	return !con->json && !con->log.kind && isatty(fileno(con->err));
}

void console_status(struct console *con, const char *text)
{
	struct winsize size = { 0 };
	int width = 80;

	if (!ioctl(fileno(con->err), TIOCGWINSZ, &size) && size.ws_col)
		width = size.ws_col;
	/* Some terminals wrap when the last column is written. */
	fprintf(con->err, "\r%.*s\033[K", width - 1, text);
	fflush(con->err);
	con->drawn = true;
}

void console_clear_status(struct console *con)
{
	if (con->drawn)
		fputs("\r\033[K", con->err);
	con->drawn = false;
}
