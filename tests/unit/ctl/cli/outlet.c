// SPDX-License-Identifier: GPL-2.0-only
/* A session's output while nobody reads it. */
#include "cli/cli.h"

#include <poll.h>
#include <string.h>
#include <sys/eventfd.h>

#include "test.h"
#include "text.h"

struct fixture {
	struct console con;
	int out, err; /* what readers have */
};

static FILE *open_pipe(int *reader)
{
	int fds[2];

	assert_int_equal(pipe2(fds, O_CLOEXEC), 0);
	/* The smallest. */
	assert_true(fcntl(fds[1], F_SETPIPE_SZ, 4096) > 0);
	*reader = fds[0];
	return fdopen(fds[1], "w");
}

static void begin(struct fixture *f)
{
	*f = (struct fixture){ 0 };
	f->con.out = open_pipe(&f->out);
	f->con.err = open_pipe(&f->err);
	signal(SIGPIPE, SIG_IGN);
	assert_int_equal(console_background(&f->con), 0);
}

static void end(struct fixture *f)
{
	fclose(f->con.out);
	fclose(f->con.err);
	closep(&f->out);
	closep(&f->err);
}

/* Checks that these lines come. */
static void read_lines(int fd, size_t nr, const char *format)
{
	FILE *file = fdopen(dup(fd), "r");
	char line[128], wanted[128];

	for (size_t i = 0; i < nr; i++) {
		assert_non_null(fgets(line, sizeof(line), file));
		snprintf(wanted, sizeof(wanted), format, (int)i);
		assert_string_equal(line, wanted);
	}
	fclose(file);
}

TEST(goes_on_while_nobody_reads)
{
	struct fixture f;

	begin(&f);
	for (int i = 0; i < 3000; i++) {
		_cleanup_free_ char *text = strfmt("line %d\n", i);

		console_result(&f.con, text);
	}
	for (int i = 0; i < 3000; i++)
		console_info(&f.con, "said %d", i);
	/* One thread writes both. */
	read_lines(f.out, 3000, "line %d\n");
	read_lines(f.err, 3000, "perf-poke-ctl: said %d\n");
	console_foreground(&f.con, -1);
	assert_false(f.con.abandoned);
	end(&f);
}

TEST(counts_what_does_not_fit)
{
	char text[4096] = "", line[256];
	struct fixture f;
	size_t got = 0;
	ssize_t size;

	begin(&f);
	memset(text, 'x', sizeof(text) - 2);
	text[sizeof(text) - 2] = '\n';
	for (int i = 0; i < 10000; i++)
		console_result(&f.con, text);
	while (got < (1 << 20)) {
		size = read(f.out, text, sizeof(text));
		assert_true(size > 0);
		got += (size_t)size;
	}
	/* A message follows once the rest is written. */
	assert_int_equal(fcntl(f.out, F_SETFL, O_NONBLOCK), 0);
	for (struct pollfd err = { .fd = f.err, .events = POLLIN }; !poll(&err, 1, 1);) {
		while (read(f.out, text, sizeof(text)) > 0)
			;
	}
	size = read(f.err, line, sizeof(line) - 1);
	assert_true(size > 0);
	line[size] = '\0';
	assert_non_null(strstr(line, "lines of output lost: nobody has read in time\n"));
	console_foreground(&f.con, -1);
	end(&f);
}

TEST(is_given_up)
{
	_cleanup_close_ int interrupt = eventfd(1, EFD_CLOEXEC);
	/* The thread goes on. */
	static struct fixture f;

	begin(&f);
	for (int i = 0; i < 3000; i++)
		console_result(&f.con, "some line\n");
	console_foreground(&f.con, interrupt);
	assert_true(f.con.abandoned);
}

TEST(knows_that_the_reader_has_gone)
{
	struct fixture f;
	struct pollfd deaf;

	begin(&f);
	closep(&f.out);
	console_result(&f.con, "line\n");
	deaf = (struct pollfd){ .fd = f.con.deaf_fd, .events = POLLIN };
	assert_int_equal(poll(&deaf, 1, 60000), 1);
	assert_true(console_is_deaf(&f.con));
	console_foreground(&f.con, -1);
	end(&f);
}
