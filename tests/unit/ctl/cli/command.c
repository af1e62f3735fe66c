// SPDX-License-Identifier: GPL-2.0-only
#include "cli/cli.h"
#include "test.h"

#include <perf_poke.h>
#include <string.h>

static enum exit_code run_good(struct console *con, int argc, char **argv)
{
	fprintf(con->out, "%d %s\n", argc, argv[1]);
	return EXIT_NO_SPIKE;
}

static const struct command good = { .name = "good", .summary = "Do good.", .run = run_good };
static const struct command other = { .name = "other", .summary = "Do other.", .run = run_good };
static const struct command *const commands[] = { &good, &other, NULL };

/* One standard stream in a file for a while. */
struct diverted {
	FILE *file;
	int to;
	int saved;
};

static void divert(struct diverted *d, int to)
{
	d->file = tmpfile();
	assert_non_null(d->file);
	d->to = to;
	d->saved = dup(to);
	assert_true(d->saved >= 0);
	assert_int_equal(dup2(fileno(d->file), to), to);
}

static void restore(struct diverted *d, char *text, size_t size)
{
	size_t length;

	assert_int_equal(dup2(d->saved, d->to), d->to);
	close(d->saved);
	rewind(d->file);
	length = fread(text, 1, size - 1, d->file);
	text[length] = '\0';
	fclose(d->file);
}

struct outcome {
	enum exit_code code;
	char out[1024];
	char err[1024];
};

static struct outcome dispatch(int argc, char **argv)
{
	struct diverted out, err;
	struct outcome outcome;

	fflush(stdout);
	divert(&out, STDOUT_FILENO);
	divert(&err, STDERR_FILENO);
	outcome.code = command_dispatch(commands, argc, argv);
	restore(&err, outcome.err, sizeof(outcome.err));
	restore(&out, outcome.out, sizeof(outcome.out));
	return outcome;
}

TEST(runs_commands)
{
	struct outcome o = dispatch(3, (char *[]){ "perf-poke-ctl", "other", "x", NULL });

	assert_int_equal(o.code, 3);
	assert_string_equal(o.out, "3 other\n");
	assert_string_equal(o.err, "");
}

TEST(refuses_unknown_commands)
{
	struct outcome o = dispatch(2, (char *[]){ "perf-poke-ctl", "goo", NULL });

	assert_int_equal(o.code, 2);
	assert_string_equal(o.out, "");
	assert_string_equal(o.err, "perf-poke-ctl: 'goo': no such command (use good, other)\n");
}

TEST(needs_a_command)
{
	struct outcome o = dispatch(1, (char *[]){ "perf-poke-ctl", NULL });

	assert_int_equal(o.code, 2);
	assert_string_equal(o.out, "");
	assert_non_null(strstr(o.err, "Usage: perf-poke-ctl COMMAND"));
	assert_non_null(strstr(o.err, "  other       Do other.\n"));
}

TEST(helps_and_tells_its_version)
{
	struct outcome o = dispatch(2, (char *[]){ "perf-poke-ctl", "--help", NULL });
	char version[64];

	assert_int_equal(o.code, 0);
	assert_non_null(strstr(o.out, "Usage: perf-poke-ctl COMMAND"));
	assert_string_equal(o.err, "");

	o = dispatch(2, (char *[]){ "perf-poke-ctl", "--version", NULL });
	snprintf(version, sizeof(version), "perf-poke-ctl %s\n", perf_poke__version());
	assert_int_equal(o.code, 0);
	assert_string_equal(o.out, version);
}
