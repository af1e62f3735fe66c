// SPDX-License-Identifier: GPL-2.0-only
#include "cli/cli.h"
#include "test.h"

#include <pty.h>
#include <string.h>
#include <unistd.h>

struct fixture {
	struct console con;
	char *out, *err;
	size_t out_size, err_size;
};

static int set_up(void **state)
{
	struct fixture *f = calloc(1, sizeof(*f));

	assert_non_null(f);
	f->con.out = open_memstream(&f->out, &f->out_size);
	f->con.err = open_memstream(&f->err, &f->err_size);
	*state = f;
	return 0;
}

static int tear_down(void **state)
{
	struct fixture *f = *state;

	fclose(f->con.out);
	fclose(f->con.err);
	free(f->out);
	free(f->err);
	free(f);
	return 0;
}

TEST_WITH(says_one_plain_line, set_up, tear_down)
{
	struct fixture *f = *state;

	console_error(&f->con, "'%s': odd", "a\n\033[2J\302\233b");
	fflush(f->con.err);
	assert_string_equal(f->err, "perf-poke-ctl: 'a  [2J b': odd\n");
	assert_int_equal(f->con.errors, 1);
}

/* The same text in JSON, without control characters for a terminal. */
TEST_WITH(escapes_json, set_up, tear_down)
{
	static const char name[] = "\033\177\302\233\342\200\256\363\240\200\201\303\244";
	struct fixture *f = *state;
	json_object *object = json_object_new_object(), *back;

	json_object_object_add(object, "comm", json_object_new_string(name));
	json_print_line(&f->con, object);
	assert_string_equal(f->out,
			    "{\"comm\":\"\\u001b\\u007f\\u009b\\u202e\\udb40\\udc01\303\244\"}\n");
	back = json_tokener_parse(f->out);
	assert_string_equal(json_object_get_string(json_object_object_get(back, "comm")), name);
	json_object_put(back);
}

/* A terminal's master and, as the console's `err`, its other end. */
static int open_terminal(struct console *con, unsigned short columns)
{
	const struct winsize size = { .ws_col = columns };
	int master, slave;

	assert_int_equal(openpty(&master, &slave, NULL, NULL, &size), 0);
	con->err = fdopen(slave, "w");
	return master;
}

static void check_shown(int master, struct console *con, const char *expected)
{
	char text[200] = "";

	fflush(con->err);
	assert_int_equal(read(master, text, sizeof(text) - 1), strlen(expected));
	assert_string_equal(text, expected);
}

/* The line is one column shorter than the terminal, or 79 columns if the width is unknown. */
TEST(draws_the_status_line)
{
	static const char ninety[] = "123456789.123456789.123456789.123456789.123456789."
				     "123456789.123456789.123456789.123456789.";
	struct console con = { 0 };
	char wide[100];
	int master = open_terminal(&con, 6);

	assert_true(console_has_status(&con));
	console_status(&con, "123456789");
	check_shown(master, &con, "\r12345\033[K");
	console_clear_status(&con);
	console_clear_status(&con);
	check_shown(master, &con, "\r\033[K");
	fclose(con.err);
	close(master);
	master = open_terminal(&con, 0);
	console_status(&con, ninety);
	snprintf(wide, sizeof(wide), "\r%.79s\033[K", ninety);
	check_shown(master, &con, wide);
	fclose(con.err);
	close(master);
}

TEST_WITH(has_no_status_line_without_a_terminal, set_up, tear_down)
{
	struct fixture *f = *state;

	assert_false(console_has_status(&f->con));
}
