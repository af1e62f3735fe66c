/* SPDX-License-Identifier: GPL-2.0-only */
/* Options of a command: one table row each, for parsing, --help and completion. */
#ifndef CTL_CLI_OPTIONS_H
#define CTL_CLI_OPTIONS_H

#include <perf_poke.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "option_value.h"

#define OPTIONS_NS_PER_H UINT64_C(3600000000000)

/* For the notes of a command with times. */
#define OPTIONS_TIMES "Times take ns, us, ms, s, m, h or d; a bare number is microseconds"

struct option_spec {
	const char *name; /* without dashes */
	char short_name;  /* or 0 */
	enum option_kind kind;
	bool required;
	bool repeatable;
	uint64_t min, max;			/* of times, sizes and counts */
	const struct perf_poke_choice *choices; /* help NULL: covered by the option's help */
	size_t nr_choices;
	/* Or the values of an axis of the library; see OPTIONS_AXIS(). */
	const struct perf_poke_choice *(*choice)(enum perf_poke_axis axis, size_t i);
	enum perf_poke_axis axis;
	/* Returns 0, or a negative errno with *why: what the value is or should be. */
	int (*parse)(void *target, const char *value, char **why);
	size_t offset;	     /* of the variable in the target */
	const char *metavar; /* the value's name in help */
	const char *help;    /* may have several lines */
};

#define OPTIONS_AXIS(name) .choice = perf_poke__choice, .axis = PERF_POKE_AXIS_##name

/*
 * Parses argv into target with getopt_long(3): long names may be abbreviated, letters joined.
 * argv[0] is skipped; argv[argc] is NULL. Strings are not copied. Not thread-safe.
 *
 * Returns 0, 1 for --help, -EINVAL with *error (allocated, one line), or -ENOMEM.
 */
int options_parse(const struct option_spec *specs, size_t nr, int argc, char **argv, void *target,
		  char **error) _must_check_;

#define options_explain say_why

/* The i-th value of an option; NULL past the end. */
const struct perf_poke_choice *options_choice(const struct option_spec *spec, size_t i);

/* Copies the rows, allocated; one of kind OPTION_SESSION becomes all options of the library. NULL:
 * no memory. */
struct option_spec *options_expand(const struct option_spec *specs, size_t nr, size_t *nr_all);

void options_help(FILE *file, const struct option_spec *specs, size_t nr);

#endif
