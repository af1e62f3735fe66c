// SPDX-License-Identifier: GPL-2.0-only
#include "options.h"

#include <stdarg.h>
#include <string.h>

#include "cpulist.h"
#include "printable.h"
#include "units.h"

/* Where the column of explanations begins. */
#define HELP_COLUMN 28

struct parser {
	const struct option_spec *specs;
	size_t nr;
	int argc;
	char **argv;
	int at; /* the next word */
	void *target;
	char **error;
};

int options_explain(char **why, int r, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	if (vasprintf(why, format, args) < 0) {
		*why = NULL;
		r = -ENOMEM;
	} else {
		printable(*why);
	}
	va_end(args);
	return r;
}

static int check_range(const struct option_spec *spec, uint64_t value, char **why)
{
	bool low = value < spec->min;
	uint64_t limit = low ? spec->min : spec->max;
	const char *than = low ? "more" : "less";

	if (!low && value <= spec->max)
		return 0;
	switch (spec->kind) {
	case OPTION_TIME:
		return options_explain(why, -EINVAL,
				       "must be %s or %s (a bare number is microseconds)",
				       FORMAT_TIME(limit), than);
	case OPTION_SIZE:
		return options_explain(why, -EINVAL, "must be %s or %s", FORMAT_SIZE(limit), than);
	default:
		return options_explain(why, -EINVAL, "must be %llu or %s",
				       (unsigned long long)limit, than);
	}
}

static int parse_number(const struct option_spec *spec, const char *value, uint64_t *number,
			char **why)
{
	const char *want;
	int r;

	if (spec->kind == OPTION_TIME) {
		r = units_parse_time(value, number);
		want = "not a time (use 30us, 1.5ms, 2s; a bare number is microseconds)";
	} else if (spec->kind == OPTION_SIZE) {
		r = units_parse_size(value, number);
		want = "not a size (use 65536, 512K, 16M, 1G)";
	} else {
		r = units_parse_count(value, number);
		want = "not a whole number";
	}
	if (r == -EINVAL)
		return options_explain(why, r, "%s", want);
	return check_range(spec, r ? UINT64_MAX : *number, why);
}

static int check_cpus(const char *value, char **why)
{
	_cleanup_free_ int *cpus = NULL;
	size_t nr;
	int r = cpulist_parse(value, &cpus, &nr);

	if (r == -ERANGE)
		return options_explain(why, r, "CPUs are 0 to %d", CPULIST_MAX_CPUS - 1);
	if (r == -EINVAL)
		return options_explain(why, r, "not a list of CPUs (use 3 or 2,4-7)");
	return r;
}

static int parse_choice(const struct option_spec *spec, const char *value, int *choice, char **why)
{
	_cleanup_free_ char *names = NULL;
	size_t size, listed = 0;
	FILE *file;

	for (size_t i = 0; i < spec->nr_choices; i++) {
		if (strcmp(value, spec->choices[i].name))
			continue;
		if (spec->choices[i].instead)
			return options_explain(why, -EINVAL, "not in this version yet; use %s",
					       spec->choices[i].instead);
		*choice = spec->choices[i].value;
		return 0;
	}
	file = open_memstream(&names, &size);
	if (!file)
		return -ENOMEM;
	for (size_t i = 0; i < spec->nr_choices; i++) {
		if (!spec->choices[i].instead)
			fprintf(file, "%s%s", listed++ ? ", " : "", spec->choices[i].name);
	}
	if (fclose(file))
		return -ENOMEM;
	return options_explain(why, -EINVAL, "not a%s %s (use %s)",
			       strchr("aeiou", *spec->name) ? "n" : "", spec->name, names);
}

static int parse_value(const struct option_spec *spec, const char *value, void *target, char **why)
{
	void *variable = (char *)target + spec->offset;
	int r = 0;

	if (!*value)
		return options_explain(why, -EINVAL, "empty; a value is needed");
	switch (spec->kind) {
	case OPTION_TIME:
	case OPTION_SIZE:
	case OPTION_COUNT:
		return parse_number(spec, value, variable, why);
	case OPTION_ENUM:
		return parse_choice(spec, value, variable, why);
	case OPTION_PARSED:
		return spec->parse(target, value, why);
	case OPTION_CPUS:
		r = check_cpus(value, why);
		break;
	case OPTION_STRING:
	case OPTION_WORD:
	case OPTION_FLAG:
	case OPTION_REST:
		break;
	}
	if (!r)
		*(const char **)variable = value;
	return r;
}

/* The option that the word names, and how it was named; *value is what hangs on to it, or NULL. */
static const struct option_spec *find_option(const struct parser *p, const char *word,
					     char name[64], const char **value)
{
	bool is_long = word[1] == '-';
	size_t length = is_long ? strcspn(word, "=") : 2;

	*value = word[length] ? &word[length + is_long] : NULL;
	snprintf(name, 64, "%.*s", (int)length, word);
	for (size_t i = 0; i < p->nr; i++) {
		const struct option_spec *spec = &p->specs[i];

		if (!spec->name)
			continue;
		if (is_long ? !strcmp(name + 2, spec->name) : name[1] == spec->short_name)
			return spec;
	}
	return NULL;
}

static int parse_option(struct parser *p, const char *word, uint64_t *seen)
{
	const struct option_spec *spec;
	_cleanup_free_ char *why = NULL;
	const char *value;
	char name[64];
	int r;

	spec = find_option(p, word, name, &value);
	if (!spec)
		return options_explain(p->error, -EINVAL, "%s: no such option (--help lists them)",
				       name);
	if (!spec->repeatable && *seen & UINT64_C(1) << (spec - p->specs))
		return options_explain(p->error, -EINVAL, "%s: given twice", name);
	*seen |= UINT64_C(1) << (spec - p->specs);

	if (spec->kind == OPTION_FLAG) {
		if (value)
			return options_explain(p->error, -EINVAL, "%s '%s': takes no value", name,
					       value);
		*(bool *)((char *)p->target + spec->offset) = true;
		return 0;
	}
	if (!value && p->at == p->argc)
		return options_explain(p->error, -EINVAL, "%s: %s is missing", name, spec->metavar);
	if (!value)
		value = p->argv[p->at++];
	r = parse_value(spec, value, p->target, &why);
	if (r && why)
		return options_explain(p->error, -EINVAL, "%s '%s': %s", name, value, why);
	return r;
}

/* Of the rows without a name, the first of the kind that has no value yet; *seen says that it has.
 */
static const struct option_spec *take_unnamed(const struct parser *p, enum option_kind kind,
					      uint64_t *seen)
{
	for (size_t i = 0; i < p->nr; i++) {
		if (p->specs[i].kind != kind || *seen & UINT64_C(1) << i)
			continue;
		*seen |= UINT64_C(1) << i;
		return &p->specs[i];
	}
	return NULL;
}

static int parse_word(struct parser *p, char *word, uint64_t *seen)
{
	const struct option_spec *spec = take_unnamed(p, OPTION_WORD, seen);
	_cleanup_free_ char *why = NULL;
	int r;

	if (!spec)
		return options_explain(p->error, -EINVAL, "'%s': only options are taken", word);
	r = parse_value(spec, word, p->target, &why);
	if (r && why)
		return options_explain(p->error, -EINVAL, "%s: %s", spec->metavar, why);
	return r;
}

/* All that follows `--`. */
static int parse_rest(struct parser *p, uint64_t *seen)
{
	const struct option_spec *spec = take_unnamed(p, OPTION_REST, seen);

	if (spec)
		*(char ***)((char *)p->target + spec->offset) = &p->argv[p->at];
	else if (p->at < p->argc)
		return options_explain(p->error, -EINVAL, "'%s': only options are taken",
				       p->argv[p->at]);
	return 0;
}

static int check_required(const struct parser *p, uint64_t seen)
{
	for (size_t i = 0; i < p->nr; i++) {
		const struct option_spec *spec = &p->specs[i];

		if (!spec->required || seen & UINT64_C(1) << i)
			continue;
		if (!spec->name)
			return options_explain(p->error, -EINVAL, "%s is required", spec->metavar);
		return options_explain(p->error, -EINVAL, "--%s %s is required", spec->name,
				       spec->metavar);
	}
	return 0;
}

int options_parse(const struct option_spec *specs, size_t nr, int argc, char **argv, void *target,
		  char **error)
{
	struct parser p = {
		.specs = specs,
		.nr = nr,
		.argc = argc,
		.argv = argv,
		.target = target,
		.error = error,
	};
	uint64_t seen = 0;
	int r = 0;

	while (p.at < argc && !r) {
		char *word = argv[p.at];

		if (!strcmp(word, "--help") || !strcmp(word, "-h"))
			return 1;
		p.at++;
		if (!strcmp(word, "--")) {
			r = parse_rest(&p, &seen);
			break;
		}
		r = word[0] == '-' && word[1] ? parse_option(&p, word, &seen)
					      : parse_word(&p, word, &seen);
	}
	return r ? r : check_required(&p, seen);
}

void options_help(FILE *file, const struct option_spec *specs, size_t nr)
{
	static const struct option_spec help = { .name = "help",
						 .short_name = 'h',
						 .help = "print this" };

	for (size_t i = 0; i <= nr; i++) {
		const struct option_spec *spec = i < nr ? &specs[i] : &help;
		const char *line = spec->help;
		int width;

		width = spec->short_name ? fprintf(file, "  -%c, ", spec->short_name)
					 : fprintf(file, "      ");
		width += fprintf(file, "%s%s%s%s", spec->name ? "--" : "", spec->name ?: "",
				 spec->name && spec->metavar ? " " : "", spec->metavar ?: "");
		if (width + 2 > HELP_COLUMN) {
			fputc('\n', file);
			width = 0;
		}
		for (; *line; width = 0) {
			int length = (int)strcspn(line, "\n");

			fprintf(file, "%*s%.*s\n", HELP_COLUMN - width, "", length, line);
			line += length + (line[length] == '\n');
		}
	}
}
