// SPDX-License-Identifier: GPL-2.0-only
#include "cli/cli.h"

#include <string.h>
#include <syslog.h>

#include "helpers.h"
#include "session/session_internal.h"

static void put_line(struct logger *log, enum perf_poke_log_level level, const char *line)
{
	_cleanup_free_ char *text = logger_format_line(log, line);

	logger_write_result(log, level, text);
}

#define STAMP "0000-00-00T00:00:00.000000+0000"

static char path[64]; /* of the log */

static int set_up(void **state)
{
	if (make_folder(state))
		return -1;
	snprintf(path, sizeof(path), "%s/log", folder->path);
	return 0;
}

static void open_log(struct logger *log, const char *where)
{
	_cleanup_free_ char *why = NULL;

	assert_int_equal(logger_open_path(log, where, &why), 0);
	assert_null(why);
}

/* The line without time and process; *line moves to the next one. */
static void has_line(const char **line, const char *text)
{
	_cleanup_free_ char *expected = NULL;
	const char *at = *line;

	for (size_t i = 0; STAMP[i]; i++, at++) {
		if (STAMP[i] == '0')
			assert_in_range(*at, '0', '9');
		else if (STAMP[i] == '+')
			assert_true(*at == '+' || *at == '-');
		else
			assert_int_equal(*at, STAMP[i]);
	}
	assert_true(asprintf(&expected, " perf-poke-ctl[%d]: %s\n", getpid(), text) > 0);
	assert_memory_equal(at, expected, strlen(expected));
	*line = at + strlen(expected);
}

TEST_WITH(appends, set_up, remove_folder)
{
	struct logger first = { 0 }, second = { 0 };
	const char *line;

	open_log(&first, path);
	open_log(&second, path);
	put_line(&first, PERF_POKE_LOG_INFO, "one");
	put_line(&second, PERF_POKE_LOG_ERROR, "two");
	logger_write_result(&first, PERF_POKE_LOG_INFO, "a\nb\n");
	logger_release(&first);
	assert_int_equal(first.kind, LOGGER_NONE);
	open_log(&first, path);
	put_line(&first, PERF_POKE_LOG_WARN, "three");
	logger_release(&first);
	logger_release(&second);
	assert_false(first.failed);

	line = load_text("log");
	has_line(&line, "one");
	has_line(&line, "two");
	assert_memory_equal(line, "a\nb\n", 4);
	line += 4;
	has_line(&line, "three");
	assert_string_equal(line, "");
}

TEST(notices_full_disk)
{
	struct logger log = { 0 };

	open_log(&log, "/dev/full");
	assert_false(log.failed);
	put_line(&log, PERF_POKE_LOG_INFO, "x");
	logger_release(&log);
	assert_true(log.failed);
}

/* Instead of journald. */
static struct {
	int priority, r;
	char text[64];
} journal;

int __wrap_systemd_write_journal(int priority, const char *text)
{
	journal.priority = priority;
	snprintf(journal.text, sizeof(journal.text), "%s", text);
	return journal.r;
}

TEST(writes_to_the_journal)
{
	struct logger log = { .kind = LOGGER_JOURNAL };

	put_line(&log, PERF_POKE_LOG_WARN, "late");
	assert_int_equal(journal.priority, LOG_WARNING);
	assert_string_equal(journal.text, "late");
	logger_write_result(&log, PERF_POKE_LOG_INFO, "a\nb\n");
	assert_int_equal(journal.priority, LOG_INFO);
	assert_string_equal(journal.text, "a\nb\n");
	assert_false(log.failed);
	journal.r = -EPIPE;
	put_line(&log, PERF_POKE_LOG_ERROR, "lost");
	assert_int_equal(journal.priority, LOG_ERR);
	assert_true(log.failed);
	logger_release(&log);
}

static void refuses(const char *where, const char *text)
{
	struct logger log = { 0 };
	_cleanup_free_ char *why = NULL;

	assert_true(logger_open_path(&log, where, &why) < 0);
	assert_int_equal(log.kind, LOGGER_NONE);
	assert_string_equal(why, text);
}

/* In a folder that others may write to: refuses links, pipes and hard links. */
TEST_WITH(opens_its_own_file, set_up, remove_folder)
{
	static const char *const strange[] = { "second", "link", "pipe", "." };
	struct logger log = { 0 };

	assert_int_equal(logger_open_at(&log, folder->fd, "log"), 0);
	put_line(&log, PERF_POKE_LOG_INFO, "one");
	logger_release(&log);
	assert_false(log.failed);
	assert_int_equal(logger_open_at(&log, folder->fd, "log"), 0);
	logger_release(&log);
	put_file(folder->fd, "other", "");
	assert_int_equal(linkat(folder->fd, "other", folder->fd, "second", 0), 0);
	assert_int_equal(symlinkat("log", folder->fd, "link"), 0);
	assert_int_equal(mkfifoat(folder->fd, "pipe", 0600), 0);
	for (size_t i = 0; i < ARRAY_SIZE(strange); i++) {
		assert_true(logger_open_at(&log, folder->fd, strange[i]) < 0);
		assert_int_equal(log.kind, LOGGER_NONE);
	}
}

/* By its path, too. Nobody may wait for a reader, or append to a file that others chose. */
TEST_WITH(opens_no_file_of_others, set_up, remove_folder)
{
	static const char *const strange[] = { "shared/link", "shared/gone", "pipe", "second" };
	_cleanup_free_ char *own = NULL;
	struct logger log = { 0 };

	put_file(folder->fd, "other", "");
	put_file(folder->fd, "shared/file", "");
	assert_int_equal(fchmodat(folder->fd, "shared", 01777, 0), 0);
	assert_int_equal(linkat(folder->fd, "other", folder->fd, "second", 0), 0);
	assert_int_equal(symlinkat("file", folder->fd, "shared/link"), 0);
	assert_int_equal(symlinkat("made", folder->fd, "shared/gone"), 0);
	assert_int_equal(mkfifoat(folder->fd, "pipe", 0600), 0);
	for (size_t i = 0; i < ARRAY_SIZE(strange); i++) {
		_cleanup_free_ char *name = NULL, *why = NULL;

		assert_true(asprintf(&name, "%s/%s", folder->path, strange[i]) > 0);
		assert_true(logger_open_path(&log, name, &why) < 0);
		assert_int_equal(log.kind, LOGGER_NONE);
		assert_non_null(strstr(why, "cannot append to the file: "));
	}
	assert_false(exists("shared/made"));
	/* A link of the user's own, where nobody else could have made it. */
	assert_int_equal(symlinkat("log", folder->fd, "link"), 0);
	assert_true(asprintf(&own, "%s/link", folder->path) > 0);
	open_log(&log, own);
	logger_release(&log);
	assert_int_equal(stat_of("log").st_mode & 0777, 0600);
	open_log(&log, "/dev/null");
	logger_release(&log);
}

TEST(refuses_places)
{
	refuses("/no/such/log", "--log '/no/such/log': cannot append to the file: No "
				"such file or directory (use a file in an existing, "
				"writable folder)");
	refuses("/", "--log '/': cannot append to the file: Is a directory (use a file "
		     "in an existing, writable folder)");
	if (!systemd_is_built())
		refuses("journal", "--log 'journal': built without libsystemd (use a "
				   "file)");
	else if (!systemd_has_journal())
		refuses("journal", "--log 'journal': journald is not running (use a file)");
}

struct streams {
	struct console con;
	char *out;
	char *err;
	size_t out_size;
	size_t err_size;
};

static void open_streams(struct streams *s, const char *log)
{
	s->con.out = open_memstream(&s->out, &s->out_size);
	s->con.err = open_memstream(&s->err, &s->err_size);
	assert_non_null(s->con.out);
	assert_non_null(s->con.err);
	open_log(&s->con.log, log);
}

static void close_streams(struct streams *s)
{
	logger_release(&s->con.log);
	fclose(s->con.out);
	fclose(s->con.err);
	free(s->out);
	free(s->err);
}

/* In the foreground the log gets standard error's messages. */
TEST_WITH(takes_lines, set_up, remove_folder)
{
	struct streams s = { 0 };
	const char *line;

	open_streams(&s, path);
	console_info(&s.con, "in\nfo");
	console_result(&s.con, "result\n");
	console_use_json(&s.con, true);
	console_info(&s.con, "not with JSON");
	console_error(&s.con, "error");
	fflush(s.con.err);
	assert_string_equal(s.out, "result\n{\"type\":\"error\",\"message\":\"error\"}\n");
	assert_string_equal(s.err, "");
	line = load_text("log");
	has_line(&line, "in fo");
	has_line(&line, "error");
	assert_string_equal(line, "");
	close_streams(&s);
}

/* In the background it gets all messages, each once. */
TEST_WITH(takes_all, set_up, remove_folder)
{
	struct streams s = { 0 };
	const char *line;

	open_streams(&s, path);
	s.con.detached = true;
	console_warn(&s.con, "warning");
	console_result(&s.con, "a\nb\n");
	console_use_json(&s.con, true);
	console_error(&s.con, "error");
	json_print_line(&s.con, json_detached_line("name", 12, "log"));
	assert_int_equal(s.con.errors, 1);
	line = load_text("log");
	has_line(&line, "warning");
	assert_string_equal(line, "a\nb\n{\"type\":\"error\",\"message\":\"error\"}\n"
				  "{\"type\":\"detached\",\"session\":\"name\",\"pid\":12,"
				  "\"log\":\"log\"}\n");
	fflush(s.con.out);
	fflush(s.con.err);
	assert_string_equal(s.out, "");
	assert_string_equal(s.err, "");
	close_streams(&s);
}

TEST(is_deaf_without_reader)
{
	struct console con = { 0 };

	con.out = fopen("/dev/full", "w");
	assert_non_null(con.out);
	assert_false(console_is_deaf(&con));
	console_result(&con, "x\n");
	assert_true(console_is_deaf(&con));
	con.detached = true;
	assert_false(console_is_deaf(&con));
	fclose(con.out);
}
