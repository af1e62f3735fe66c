// SPDX-License-Identifier: GPL-2.0-only
#include "cli/cli.h"

#include <perf_poke.h>
#include <string.h>

#include "test.h"

struct target {
	bool flag;
	uint64_t time_ns;
	uint64_t size;
	uint64_t count;
	const char *cpus;
	int choice;
	const char *string;
	size_t nr_parsed;
};

static int parse_word(void *target, const char *value, char **why)
{
	struct target *t = target;

	if (!strcmp(value, "bad"))
		return say_why(why, -EINVAL, "not good");
	t->nr_parsed++;
	return 0;
}

static const struct perf_poke_choice choices[] = {
	{ "one", 1 },
	{ "two", 2, "the larger" },
};

#define TARGET(member) .offset = offsetof(struct target, member)

static const struct option_spec specs[] = {
	{ "flag", 'f', OPTION_FLAG, TARGET(flag), .help = "a flag" },
	{ "time", 't', OPTION_TIME, .min = 1, .max = 1000000000, TARGET(time_ns), .metavar = "TIME",
	  .help = "a time" },
	{ "size", 0, OPTION_SIZE, .min = 4096, .max = 1 << 20, TARGET(size), .metavar = "SIZE",
	  .help = "a size\nof two lines" },
	{ "number", 'n', OPTION_COUNT, .min = 1, .max = 99, TARGET(count), .metavar = "N",
	  .help = "a number" },
	{ "cpu", 'c', OPTION_CPUS, .required = true, TARGET(cpus), .metavar = "LIST",
	  .help = "CPUs" },
	{ "choice", 0, OPTION_ENUM, .choices = choices, .nr_choices = ARRAY_SIZE(choices),
	  TARGET(choice), .metavar = "NAME", .help = "a choice" },
	{ "string", 's', OPTION_STRING, TARGET(string), .metavar = "S", .help = "a string" },
	{ "word", 'w', OPTION_PARSED, .repeatable = true, .parse = parse_word, .metavar = "W",
	  .help = "words" },
};

#define MAX_WORDS 24

/* Splits at blanks; `''` is an empty word. */
static int parse(const char *line, struct target *target, char **error)
{
	static char copy[256];
	char *argv[MAX_WORDS] = { "command" };
	int argc = 1;

	snprintf(copy, sizeof(copy), "%s", line);
	for (char *word = strtok(copy, " "); word; word = strtok(NULL, " ")) {
		assert_true(argc < MAX_WORDS - 1);
		argv[argc++] = strcmp(word, "''") ? word : word + 2;
	}
	argv[argc] = NULL;
	memset(target, 0, sizeof(*target));
	return options_parse_argv(specs, ARRAY_SIZE(specs), argc, argv, target, error);
}

static void check_all(const char *line)
{
	_cleanup_free_ char *error = NULL;
	struct target t;

	assert_int_equal(parse(line, &t, &error), 0);
	assert_null(error);
	assert_true(t.flag);
	assert_int_equal(t.time_ns, 1500000);
	assert_int_equal(t.size, 65536);
	assert_int_equal(t.count, 99);
	assert_string_equal(t.cpus, "2,4-7");
	assert_int_equal(t.choice, 2);
	assert_string_equal(t.string, "--x=y");
	assert_int_equal(t.nr_parsed, 2);
}

TEST(takes_all_forms)
{
	check_all("--flag --time 1.5ms --size 64K --number 99 --cpu 2,4-7 --choice two "
		  "--string --x=y --word a --word b");
	check_all("--flag --time=1.5ms --size=64k --number=99 --cpu=2,4-7 --choice=two "
		  "--string=--x=y --word=a --word=b --");
	check_all("-f -t 1500 --size=65536 -n 99 -c 2,4-7 --choice=two -s --x=y -w a -w b");
	check_all("--fl --ti 1.5ms --si 64K --nu 99 --cp 2,4-7 --ch two --st --x=y -w a -wb");
	check_all("-ft1500us --size=65536 -n99 -c2,4-7 --choice=two -s--x=y -wa -wb");
	check_all("-f -t1500us --size=65536 -n99 -c2,4-7 --choice=two -s--x=y -wa -wb");
}

TEST(refuses)
{
	static const struct {
		const char *line;
		const char *error;
	} rows[] = {
		{ "", "--cpu LIST is required" },
		{ "--", "--cpu LIST is required" },
		{ "--nope", "--nope: no such option (--help lists them)" },
		{ "--tiem 3", "--tiem: no such option (did you mean --time?)" },
		{ "--chioce=one", "--chioce: no such option (did you mean --choice?)" },
		{ "--numbr", "--numbr: no such option (did you mean --number?)" },
		{ "--nope=3", "--nope: no such option (--help lists them)" },
		{ "--c 3", "--c: ambiguous (use --cpu, --choice)" },
		{ "--c=3", "--c: ambiguous (use --cpu, --choice)" },
		{ "--cp 3 --cpu=3", "--cpu: given twice" },
		{ "--cp", "--cpu: LIST is missing" },
		{ "-x", "-x: no such option (--help lists them)" },
		{ "-C 1", "-C: no such option (did you mean -c?)" },
		{ "--cpu", "--cpu: LIST is missing" },
		{ "-c", "-c: LIST is missing" },
		{ "-c 1 --cpu 2", "--cpu: given twice" },
		{ "-f --flag", "--flag: given twice" },
		{ "--flag=1", "--flag '1': takes no value" },
		{ "-f1", "-1: no such option (--help lists them)" },
		{ "-fc", "-c: LIST is missing" },
		{ "-c 1 word", "'word': unexpected argument" },
		{ "-c 1 -", "'-': unexpected argument" },
		{ "-c 1 -- -f", "'-f': unexpected argument" },
		{ "-c ''", "-c '': empty; a value is needed" },
		{ "--string=", "--string '': empty; a value is needed" },
		{ "--time 30xs", "--time '30xs': not a time "
				 "(use 30us, 1.5ms, 2s; a bare number is microseconds)" },
		{ "--time 0", "--time '0': must be 1ns or more (a bare number is microseconds)" },
		{ "--time 2s", "--time '2s': must be 1s or less (a bare number is microseconds)" },
		{ "--time 99999999999999h",
		  "--time '99999999999999h': must be 1s or less (a bare number is microseconds)" },
		{ "--size 16MiB", "--size '16MiB': not a size (use 65536, 512K, 16M, 1G)" },
		{ "--size 1", "--size '1': must be 4K or more" },
		{ "--size 2M", "--size '2M': must be 1M or less" },
		{ "-n abc", "-n 'abc': not a whole number" },
		{ "-n -1", "-n '-1': not a whole number" },
		{ "-n 0", "-n '0': must be 1 or more" },
		{ "-n 100", "-n '100': must be 99 or less" },
		{ "--cpu 3-1", "--cpu '3-1': not a list of CPUs (use 3 or 2,4-7)" },
		{ "--cpu 8192", "--cpu '8192': CPUs are 0 to 8191" },
		{ "--choice four", "--choice 'four': not a choice (use one, two)" },
		{ "-w a -w bad", "-w 'bad': not good" },
	};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		_cleanup_free_ char *error = NULL;
		struct target t;

		assert_int_equal(parse(rows[i].line, &t, &error), -EINVAL);
		assert_non_null(error);
		assert_string_equal(error, rows[i].error);
	}
}

struct word_args {
	bool flag;
	const char *first;
	const char *second;
	char **rest;
};

#define WORD(member) .offset = offsetof(struct word_args, member)

static const struct option_spec word_specs[] = {
	{ NULL, 0, OPTION_WORD, .required = true, WORD(first), .metavar = "FIRST", .help = "one" },
	{ NULL, 0, OPTION_WORD, WORD(second), .metavar = "SECOND", .help = "two" },
	{ "flag", 'f', OPTION_FLAG, WORD(flag), .help = "a flag" },
	{ NULL, 0, OPTION_REST, WORD(rest), .metavar = "-- REST", .help = "what follows" },
};

static int parse_words(char **argv, struct word_args *words, char **error)
{
	int argc = 0;

	while (argv[argc])
		argc++;
	*words = (struct word_args){ 0 };
	return options_parse_argv(word_specs, ARRAY_SIZE(word_specs), argc, argv, words, error);
}

#define PARSE_WORDS(words, error, ...)                                                             \
	parse_words((char *[]){ "command", __VA_ARGS__, NULL }, words, error)

TEST(takes_words)
{
	_cleanup_free_ char *error = NULL;
	struct word_args w;

	assert_int_equal(PARSE_WORDS(&w, &error, "a", "-f", "-", "--", "-f", "--", "x"), 0);
	assert_true(w.flag);
	assert_string_equal(w.first, "a");
	assert_string_equal(w.second, "-");
	assert_string_equal(w.rest[0], "-f");
	assert_string_equal(w.rest[1], "--");
	assert_string_equal(w.rest[2], "x");
	assert_null(w.rest[3]);

	assert_int_equal(PARSE_WORDS(&w, &error, "-f", "a"), 0);
	assert_true(w.flag);
	assert_string_equal(w.first, "a");
	assert_null(w.second);
	assert_null(w.rest);
	assert_null(error);
}

TEST(refuses_words)
{
	_cleanup_free_ char *none = NULL, *empty = NULL, *third = NULL;
	struct word_args w;

	assert_int_equal(PARSE_WORDS(&w, &none, "-f", "--", "a"), -EINVAL);
	assert_string_equal(none, "FIRST is required");
	assert_int_equal(PARSE_WORDS(&w, &empty, ""), -EINVAL);
	assert_string_equal(empty, "FIRST: empty; a value is needed");
	assert_int_equal(PARSE_WORDS(&w, &third, "a", "b", "c"), -EINVAL);
	assert_string_equal(third, "'c': unexpected argument");
}

TEST(helps_with_words)
{
	_cleanup_free_ char *text =
		WRITTEN(file, options_print_help(file, word_specs, ARRAY_SIZE(word_specs)));

	assert_non_null(strstr(text, "      FIRST                 one\n"));
	assert_non_null(strstr(text, "      -- REST               what follows\n"));
}

TEST(helps)
{
	_cleanup_free_ char *error = NULL;
	_cleanup_free_ char *text = NULL;
	struct target t;

	assert_int_equal(parse("--help", &t, &error), 1);
	assert_int_equal(parse("-f -h --nope", &t, &error), 1);
	assert_null(error);

	text = WRITTEN(file, options_print_help(file, specs, ARRAY_SIZE(specs)));
	assert_non_null(strstr(text, "  -f, --flag                a flag\n"));
	assert_non_null(strstr(text, "      --size SIZE           a size\n"
				     "                            of two lines\n"));
	assert_non_null(strstr(text, "      --choice NAME         a choice\n"
				     "                              two          the larger\n"));
	assert_non_null(strstr(text, "  -h, --help                print this help\n"));
}

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
	assert_string_equal(o.err, "perf-poke-ctl: 'goo': no such command (did you mean good?)\n");
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

/* More than an integer has bits. */
TEST(takes_any_number_of_options)
{
	struct option_spec many[70] = {};
	char names[ARRAY_SIZE(many)][8];
	bool flags[ARRAY_SIZE(many)] = {};
	char *argv[] = { (char *)"command", (char *)"--o5", (char *)"--o69" };
	_cleanup_free_ char *error = NULL;

	for (size_t i = 0; i < ARRAY_SIZE(many); i++) {
		snprintf(names[i], sizeof(names[i]), "o%zu", i);
		many[i] = (struct option_spec){ names[i], 0, OPTION_FLAG, .offset = i };
	}
	assert_int_equal(
		options_parse_argv(many, ARRAY_SIZE(many), ARRAY_SIZE(argv), argv, flags, &error),
		0);
	assert_true(flags[5] && flags[69] && !flags[6]);
}
