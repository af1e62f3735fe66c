// SPDX-License-Identifier: GPL-2.0-only
#include "cli/cli.h"

#include <poll.h>
#include <stdarg.h>
#include <string.h>
#include <sys/eventfd.h>

#include "clock.h"
#include "text.h"
#include "units.h"

/* Of what waits for readers. A capture is a line of a few kilobytes. */
#define BACKGROUND_SIZE (16 << 20)

/* A descriptor of others may not block, which is no failure. */
static int console_write_waiting(int fd, const char *text)
{
	struct pollfd ready = { .fd = fd, .events = POLLOUT };
	size_t left = strlen(text);

	while (left) {
		ssize_t n = write(fd, text, left);

		if (n < 0 && errno == EAGAIN)
			poll(&ready, 1, -1);
		else if (n < 0 && errno != EINTR)
			return -errno;
		text += n > 0 ? n : 0;
		left -= n > 0 ? (size_t)n : 0;
	}
	return 0;
}

/* The locks of standard streams are left to the main thread, which must not wait for them. */
static void console_write_result(struct outlet_job *job)
{
	struct console *con = job->ctx;

	if (!con->outlet) {
		fputs(job->text, con->out);
		fflush(con->out);
	} else if (console_write_waiting(fileno(con->out), job->text)) {
		con->deaf = true;
		eventfd_write(con->deaf_fd, 1);
	}
}

static void console_write_message(struct outlet_job *job)
{
	struct console *con = job->ctx;

	if (con->outlet)
		console_write_waiting(fileno(con->err), job->text);
	else
		fputs(job->text, con->err);
}

static void console_write_log(struct outlet_job *job)
{
	struct console *con = job->ctx;

	logger_write_result(&con->log, job->level, job->text);
}

static void console_write_notice(struct outlet_job *job)
{
	systemd_notify(job->text);
}

static void console_write_entry(struct outlet_job *job)
{
	struct console *con = job->ctx;

	if (systemd_write_capture_entry(job->text, job->fields) < 0)
		con->log.failed = true;
}

/* Takes the text and the fields. */
static void console_put_job(struct console *con, struct outlet_job job)
{
	signals_hold_if_ended();
	job.ctx = con;
	if (con->outlet && job.text) {
		outlet_add_job(con->outlet, &job);
		return;
	}
	if (job.text)
		job.write(&job);
	free(job.text);
	argv_free_words(&job.fields);
}

static void console_write_dropped(void *ctx, size_t nr)
{
	struct console *con = ctx;
	_cleanup_free_ char *line = strfmt("%s of output lost: nobody has read in time",
					   FORMAT_COUNT(nr, "line", "lines"));
	_cleanup_free_ char *text = !line	    ? NULL
				    : con->log.kind ? logger_format_line(&con->log, line)
						    : strfmt("perf-poke-ctl: %s\n", line);
	struct outlet_job job = { .ctx = con, .level = PERF_POKE_LOG_WARN, .text = text };

	if (text && con->log.kind)
		console_write_log(&job);
	else if (text)
		console_write_message(&job);
}

int console_background(struct console *con)
{
	struct outlet *outlet;
	int err;

	con->deaf_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	if (con->deaf_fd < 0)
		return -errno;
	fflush(con->out);
	fflush(con->err);
	err = outlet_new(&outlet, BACKGROUND_SIZE, console_write_dropped, con);
	if (!err)
		con->outlet = outlet;
	else
		closep(&con->deaf_fd);
	return err;
}

void console_foreground(struct console *con, int interrupt)
{
	if (!con->outlet)
		return;
	if (outlet_finish(con->outlet, interrupt, -1)) {
		con->abandoned = true;
		return;
	}
	con->outlet = NULL;
	closep(&con->deaf_fd);
}

static void console_put_result(struct console *con, enum perf_poke_log_level level,
			       const char *text)
{
	console_put_job(con,
			(struct outlet_job){
				.write = con->detached ? console_write_log : console_write_result,
				.level = level,
				.text = strdup(text),
			});
}

void console_log_message(struct console *con, enum perf_poke_log_level level, const char *msg)
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
			console_put_result(con, level, json);
		/* Text and JSON would go to the same log. */
		if (con->detached)
			return;
	}
	line = strdup(msg);
	if (!line)
		return;
	console_clear_status(con);
	text_make_printable(line);
	console_put_job(con,
			(struct outlet_job){
				.write = con->log.kind ? console_write_log : console_write_message,
				.level = level,
				.text = con->log.kind ? logger_format_line(&con->log, line)
						      : strfmt("perf-poke-ctl: %s\n", line),
			});
}

static void _printf_(3, 0) console_log_format(struct console *con, enum perf_poke_log_level level,
					      const char *format, va_list args)
{
	_cleanup_free_ char *msg = NULL;

	if (vasprintf(&msg, format, args) < 0)
		msg = NULL;
	console_log_message(con, level, msg ?: strerror(ENOMEM));
}

void console_error(struct console *con, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	console_log_format(con, PERF_POKE_LOG_ERROR, format, args);
	va_end(args);
}

void console_warn(struct console *con, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	console_log_format(con, PERF_POKE_LOG_WARN, format, args);
	va_end(args);
}

void console_info(struct console *con, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	console_log_format(con, PERF_POKE_LOG_INFO, format, args);
	va_end(args);
}

void console_notify(struct console *con, const char *format, ...)
{
	struct outlet_job job = { .write = console_write_notice };
	va_list args;

	if (!systemd_wants_notify())
		return;
	va_start(args, format);
	if (vasprintf(&job.text, format, args) < 0)
		job.text = NULL;
	va_end(args);
	console_put_job(con, job);
}

void console_journal(struct console *con, const char *message, char **fields)
{
	console_put_job(con, (struct outlet_job){ .write = console_write_entry,
						  .text = strdup(message),
						  .fields = fields });
}

void console_result(struct console *con, const char *text)
{
	console_put_result(con, PERF_POKE_LOG_INFO, text);
}

bool console_is_deaf(const struct console *con)
{
	return !con->detached && (con->deaf || ferror(con->out));
}

bool console_reader_is_gone(const struct console *con)
{
	struct pollfd out = { .fd = fileno(con->out) };

	return poll(&out, 1, 0) > 0 && out.revents & (POLLERR | POLLHUP);
}

bool console_has_status(const struct console *con)
{
	return !con->json && !con->log.kind && isatty(fileno(con->err));
}

void console_status(struct console *con, const char *text)
{
	int width = (int)terminal_columns(con->err) ?: 80;

	if (con->outlet && !outlet_is_idle(con->outlet))
		return;
	/* Some terminals wrap when the last column is written. */
	console_put_job(con, (struct outlet_job){
				     .write = console_write_message,
				     .text = strfmt("\r%.*s\033[K", width - 1, text),
			     });
	fflush(con->err);
	con->drawn = true;
}

void console_clear_status(struct console *con)
{
	if (con->drawn)
		console_put_job(con, (struct outlet_job){
					     .write = console_write_message,
					     .text = strdup("\r\033[K"),
				     });
	con->drawn = false;
}

json_object *json_typed_object(const char *type)
{
	json_object *object = json_object_new_object();

	json_add_text(object, "type", type);
	return object;
}

/* json-c escapes only some of the characters that terminals interpret. The others occur in strings
 * only, so that they can be escaped as well. */
static char *json_escape_line(const char *json)
{
	char *line = NULL;
	size_t size, length;
	FILE *file = open_memstream(&line, &size);
	uint32_t code;

	if (!file)
		return NULL;
	for (; *json; json += length) {
		length = utf8_decode_character(json, &code);
		if (length && is_printable_code(code))
			fwrite(json, 1, length, file);
		else if (length && code > UINT16_MAX)
			fprintf(file, "\\u%04x\\u%04x", 0xd7c0 + (code >> 10),
				0xdc00 | (code & 0x3ff));
		else if (length)
			fprintf(file, "\\u%04x", code);
		else
			fputc('?', file);
		length = length ?: 1;
	}
	fputc('\n', file);
	fclose(file);
	return line;
}

static char *json_format_line(json_object *object)
{
	const int flags = JSON_C_TO_STRING_PLAIN | JSON_C_TO_STRING_NOSLASHESCAPE;
	char *line = json_escape_line(json_object_to_json_string_ext(object, flags));

	json_object_put(object);
	return line;
}

static char *json_error_line(const char *message)
{
	json_object *object = json_typed_object("error");

	json_add_text(object, "message", message);
	return json_format_line(object);
}

void json_print_line(struct console *con, json_object *object)
{
	_cleanup_free_ char *line = json_format_line(object);

	if (line)
		console_result(con, line);
}

void console_use_json(struct console *con, bool json)
{
	con->json = json ? json_error_line : NULL;
	/* A line is for programs, also on a terminal. */
	if (json)
		console_unfold(con);
}

#define SHOW_EVERY_NS NSEC_PER_SEC

void progress_begin(struct progress *progress, struct console *con, const char *what,
		    uint64_t total)
{
	*progress = (struct progress){ .con = con, .what = what, .total = total };
	progress->shown_ns = clock_ns(CLOCK_MONOTONIC);
}

static void progress_show_line(struct progress *progress)
{
	char line[128];

	if (progress->total)
		snprintf(line, sizeof(line), "%s: %d%% of %s", progress->what,
			 (int)(progress->done * 100.0 / (double)progress->total),
			 FORMAT_SIZE(progress->total));
	else
		snprintf(line, sizeof(line), "%s: %s", progress->what, FORMAT_SIZE(progress->done));
	console_status(progress->con, line);
}

int progress_add(void *ctx, uint64_t bytes)
{
	struct progress *progress = ctx;
	uint64_t now_ns = clock_ns(CLOCK_MONOTONIC);

	signals_hold_if_ended();
	progress->done += bytes;
	if (now_ns - progress->shown_ns < SHOW_EVERY_NS)
		return 0;
	progress->shown_ns = now_ns;
	if (console_has_status(progress->con))
		progress_show_line(progress);
	return 0;
}

void progress_end(struct progress *progress)
{
	console_clear_status(progress->con);
}
