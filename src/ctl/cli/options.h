/* SPDX-License-Identifier: GPL-2.0-only */
/* Options of a command as data: one row each. */
#ifndef CTL_CLI_OPTIONS_H
#define CTL_CLI_OPTIONS_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "util.h"

struct perf_poke_choice;

enum option_kind {
	OPTION_FLAG,	 /* bool */
	OPTION_TIME,	 /* uint64_t, ns; a bare number is microseconds */
	OPTION_DURATION, /* uint64_t, ns; a bare number is seconds */
	OPTION_SIZE,	 /* uint64_t, bytes */
	OPTION_COUNT,	 /* uint64_t */
	OPTION_CPUS,	 /* const char *, a valid list of CPUs */
	OPTION_ENUM,	 /* int or an enum, one of `choices`, or of `choice` */
	OPTION_STRING,	 /* const char *, not empty */
	OPTION_PARSED,	 /* whatever `parse` makes of it */
	OPTION_WORD,	 /* const char *, not empty: a word that is not an option; has no name */
	OPTION_REST,	 /* char **, up to a NULL: all that follows `--`; has no name */
};

/* For the notes of a command that has times. */
#define OPTIONS_TIMES "Times take ns, us, ms, s, m, h or d; a bare number is microseconds"

struct option_choice {
	const char *name;
	int value;
	const char *help; /* NULL: the option's help says it */
};

struct option_spec {
	const char *name; /* without dashes; NULL if it is given without one */
	char short_name;  /* or 0 */
	enum option_kind kind;
	bool required;
	bool repeatable;
	uint64_t min, max; /* of times, sizes and counts */
	const struct option_choice *choices;
	size_t nr_choices;
	/* Or the library's: the i-th, NULL past the end. */
	const struct perf_poke_choice *(*choice)(size_t i);
	/* Returns 0, or a negative errno with *why saying what the value is or should be. */
	int (*parse)(void *target, const char *value, char **why);
	size_t offset;	     /* of the variable in the target */
	const char *metavar; /* the value's name in help */
	const char *help;    /* lines after the first are indented alike */
};

/*
 * Reads argv into target by getopt_long(3): long names may be abbreviated, letters joined. argv[0]
 * is not an option; argv[argc] is NULL. Strings are not copied. One thread at a time.
 *
 * Returns 0, 1 if --help was asked for, -EINVAL with *error (one line, for the caller to free) set,
 * or -ENOMEM.
 */
int options_parse(const struct option_spec *specs, size_t nr, int argc, char **argv, void *target,
		  char **error) _must_check_;

/* Sets *why, for the caller to free. Returns r, or -ENOMEM when there is no memory to say why. */
int options_explain(char **why, int r, const char *format, ...) _printf_(3, 4);

/* The i-th value of an option; false: there are no more. */
bool options_choice(const struct option_spec *spec, size_t i, struct option_choice *choice);

void options_help(FILE *file, const struct option_spec *specs, size_t nr);

#endif
