// SPDX-License-Identifier: GPL-2.0-only
#include "cli/cli.h"

#include <ctype.h>
#include <getopt.h>
#include <perf_poke.h>
#include <string.h>

#include "text.h"

struct parser {
	const struct option_spec *specs;
	size_t nr;
	int argc;
	char **argv;
	void *target;
	char **error;
	bool *seen; /* of each row: whether it has a value */
};

const struct perf_poke_choice *options_get_choice(const struct option_spec *spec, size_t i)
{
	if (spec->choice)
		return spec->choice(spec->axis, i);
	return i < spec->nr_choices ? &spec->choices[i] : NULL;
}

static int option_parse_choice(const struct option_spec *spec, const char *value, int *target,
			       char **why)
{
	_cleanup_free_ char *names = NULL;
	const struct perf_poke_choice *choice;

	for (size_t i = 0; (choice = options_get_choice(spec, i)); i++) {
		text_list_append(&names, choice->name);
		if (strcmp(value, choice->name))
			continue;
		*target = choice->value;
		return 0;
	}
	return say_why(why, -EINVAL, "not a%s %s (use %s)", strchr("aeiou", *spec->name) ? "n" : "",
		       spec->name, names);
}

static int option_parse_value(const struct option_spec *spec, const char *value, void *target,
			      char **why)
{
	void *variable = (char *)target + spec->offset;
	int err = 0;

	if (spec->kind == OPTION_SESSION) {
		err = perf_poke__opts_set(variable, spec->name, value);
		return err ? say_why(why, err, "%s", perf_poke__last_error()) : 0;
	}
	if (!*value)
		return say_why(why, -EINVAL, "empty; a value is needed");
	switch (spec->kind) {
	case OPTION_TIME:
	case OPTION_DURATION:
	case OPTION_SIZE:
	case OPTION_COUNT:
		return option_number(spec->kind, value, spec->min, spec->max, variable, why);
	case OPTION_ENUM:
		return option_parse_choice(spec, value, variable, why);
	case OPTION_PARSED:
		return spec->parse(target, value, why);
	case OPTION_CPUS:
		err = option_cpus(value, why);
		break;
	case OPTION_WORD:
		if (spec->parse)
			return spec->parse(target, value, why);
		break;
	case OPTION_STRING:
	case OPTION_FLAG:
	case OPTION_REST:
	case OPTION_SESSION:
		break;
	}
	if (!err)
		*(const char **)variable = value;
	return err;
}

/* getopt_long() returns LONG_NAME plus the row's index for a long name. */
#define LONG_NAME 256
#define HELP 'h'

const struct option_spec options_help_row = { .name = "help",
					      .short_name = HELP,
					      .help = "print this help" };

static const struct option_spec *parser_find_spec(const struct parser *p, int found)
{
	if (found >= LONG_NAME)
		return &p->specs[found - LONG_NAME];
	for (size_t i = 0; i < p->nr; i++) {
		if (p->specs[i].short_name == found)
			return &p->specs[i];
	}
	return NULL;
}

/* Formats the option as the user wrote it: --time or -t. */
static void format_option_name(char name[64], const struct option_spec *spec, int found)
{
	if (found >= LONG_NAME)
		snprintf(name, 64, "--%s", spec->name);
	else
		snprintf(name, 64, "-%c", found);
}

static int parser_read_option(struct parser *p, int found)
{
	const struct option_spec *spec = parser_find_spec(p, found);
	bool *seen = &p->seen[spec - p->specs];
	_cleanup_free_ char *why = NULL;
	char name[64];
	int err;

	format_option_name(name, spec, found);
	if (!spec->repeatable && *seen)
		return say_why(p->error, -EINVAL, "%s: given twice", name);
	*seen = true;
	if (spec->kind == OPTION_FLAG) {
		*(bool *)((char *)p->target + spec->offset) = true;
		return 0;
	}
	err = option_parse_value(spec, optarg, p->target, &why);
	if (err && why)
		return say_why(p->error, -EINVAL, "%s '%s': %s", name, optarg ?: "", why);
	return err;
}

static const char *parser_find_similar(const struct parser *p, const char *word, int length)
{
	struct similar_name similar = { .word = word + 2, .length = (size_t)length - 2 };

	for (size_t i = 0; i < p->nr; i++) {
		if (p->specs[i].name)
			similar_name_try(&similar, p->specs[i].name);
	}
	return similar.name;
}

/* Names the options that the word is a prefix of, such as `--period, --perf-pid`. */
static int parser_explain_unknown(struct parser *p, const char *word)
{
	int length = (int)strcspn(word, "=");
	_cleanup_free_ char *names = NULL;
	const char *near;

	for (size_t i = 0; i < p->nr; i++) {
		const char *name = p->specs[i].name;
		char dashed[64];

		snprintf(dashed, sizeof(dashed), "--%s", name ?: "");
		if (name && !strncmp(dashed, word, (size_t)length))
			text_list_append(&names, dashed);
	}
	if (names)
		return say_why(p->error, -EINVAL, "%.*s: ambiguous (use %s)", length, word, names);
	near = parser_find_similar(p, word, length);
	if (near)
		return say_why(p->error, -EINVAL, "%.*s: no such option (did you mean --%s?)",
			       length, word, near);
	return say_why(p->error, -EINVAL, "%.*s: no such option (--help lists them)", length, word);
}

/* getopt_long() has rejected it. */
static int parser_explain_option(struct parser *p, bool is_missing)
{
	const struct option_spec *spec = optopt ? parser_find_spec(p, optopt) : NULL;
	char *word = p->argv[optind - 1];
	char name[64];

	if (!optopt)
		return parser_explain_unknown(p, word);
	format_option_name(name, spec, optopt);
	if (is_missing)
		return say_why(p->error, -EINVAL, "%s: %s is missing", name, spec->metavar);
	if (spec)
		return say_why(p->error, -EINVAL, "%s '%s': takes no value", name,
			       strchr(word, '=') + 1);
	spec = parser_find_spec(p, isupper(optopt) ? tolower(optopt) : toupper(optopt));
	if (spec)
		return say_why(p->error, -EINVAL, "%s: no such option (did you mean -%c?)", name,
			       spec->short_name);
	return say_why(p->error, -EINVAL, "%s: no such option (--help lists them)", name);
}

/* Takes the first row of the kind without a value, or one that takes many. */
static const struct option_spec *parser_take_unnamed(struct parser *p, enum option_kind kind)
{
	for (size_t i = 0; i < p->nr; i++) {
		if (p->specs[i].kind != kind || p->seen[i])
			continue;
		if (!p->specs[i].repeatable)
			p->seen[i] = true;
		return &p->specs[i];
	}
	return NULL;
}

static int parser_read_word(struct parser *p, char *word)
{
	const struct option_spec *spec = parser_take_unnamed(p, OPTION_WORD);
	_cleanup_free_ char *why = NULL;
	int err;

	if (!spec)
		return say_why(p->error, -EINVAL, "'%s': unexpected argument", word);
	err = option_parse_value(spec, word, p->target, &why);
	if (err && why)
		return say_why(p->error, -EINVAL, "%s: %s", spec->metavar, why);
	return err;
}

static int parser_read_rest(struct parser *p)
{
	const struct option_spec *spec = parser_take_unnamed(p, OPTION_REST);

	if (spec)
		*(char ***)((char *)p->target + spec->offset) = &p->argv[optind];
	else if (optind < p->argc)
		return say_why(p->error, -EINVAL, "'%s': unexpected argument", p->argv[optind]);
	return 0;
}

static int parser_check_required(const struct parser *p)
{
	for (size_t i = 0; i < p->nr; i++) {
		const struct option_spec *spec = &p->specs[i];

		if (!spec->required || p->seen[i])
			continue;
		if (!spec->name)
			return say_why(p->error, -EINVAL, "%s is required", spec->metavar);
		return say_why(p->error, -EINVAL, "--%s %s is required", spec->name, spec->metavar);
	}
	return 0;
}

/* Converts the rows for getopt_long(): arguments in order (-), no messages, ':' for a missing
 * value.
 */
static void parser_describe_options(const struct parser *p, struct option *names, char *letters)
{
	letters = stpcpy(letters, "-:h");
	*names++ = (struct option){ options_help_row.name, no_argument, NULL, HELP };
	for (size_t i = 0; i < p->nr; i++) {
		const struct option_spec *spec = &p->specs[i];
		bool takes_value = spec->metavar;

		if (spec->name)
			*names++ = (struct option){ spec->name, takes_value, NULL,
						    LONG_NAME + (int)i };
		if (spec->short_name)
			letters +=
				sprintf(letters, "%c%s", spec->short_name, takes_value ? ":" : "");
	}
}

int options_parse_argv(const struct option_spec *specs, size_t nr, int argc, char **argv,
		       void *target, char **error)
{
	struct parser p = {
		.specs = specs,
		.nr = nr,
		.argc = argc,
		.argv = argv,
		.target = target,
		.error = error,
	};
	_cleanup_free_ struct option *names = calloc(nr + 2, sizeof(*names));
	_cleanup_free_ char *letters = malloc(sizeof("-:h") + 2 * nr);
	_cleanup_free_ bool *seen = calloc(nr + 1, sizeof(*seen));
	int err = 0;

	if (!names || !letters || !seen)
		return -ENOMEM;
	p.seen = seen;
	parser_describe_options(&p, names, letters);
	/* 0 makes glibc reinitialise getopt. */
	optind = 0;
	while (!err) {
		int at = optind ?: 1;
		int found = getopt_long(argc, argv, letters, names, NULL);

		if (found == HELP)
			return 1;
		if (found < 0) {
			err = at < optind ? parser_read_rest(&p) : 0;
			return err ? err : parser_check_required(&p);
		}
		if (found == 1)
			err = parser_read_word(&p, optarg);
		else if (found == '?' || found == ':')
			err = parser_explain_option(&p, found == ':');
		else
			err = parser_read_option(&p, found);
	}
	return err;
}

struct option_spec *options_expand_rows(const struct option_spec *specs, size_t nr, size_t *nr_all)
{
	const struct perf_poke_option *option;
	struct option_spec *all;
	size_t nr_library = 0;

	while (perf_poke__option(nr_library))
		nr_library++;
	all = calloc(nr + nr_library, sizeof(*all));
	*nr_all = 0;
	for (size_t i = 0; all && i < nr; i++) {
		if (specs[i].kind != OPTION_SESSION)
			all[(*nr_all)++] = specs[i];
		for (size_t j = 0; specs[i].kind == OPTION_SESSION && j < nr_library; j++) {
			option = perf_poke__option(j);
			all[(*nr_all)++] = (struct option_spec){
				.name = option->name,
				.short_name = option->letter,
				.kind = OPTION_SESSION,
				.repeatable = option->repeatable,
				.choice = option->axis < 0 ? NULL : perf_poke__choice,
				.axis = (enum perf_poke_axis)option->axis,
				.offset = specs[i].offset,
				.metavar = option->metavar,
				.help = option->help,
			};
		}
	}
	return all;
}
