/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/* Values of options, for a command line or a library. */
#ifndef SHARED_OPTION_VALUE_H
#define SHARED_OPTION_VALUE_H

#include <stdint.h>

#include "text.h"

enum option_kind {
	OPTION_FLAG,	 /* bool */
	OPTION_TIME,	 /* uint64_t, ns; a bare number is microseconds */
	OPTION_DURATION, /* uint64_t, ns; a bare number is seconds */
	OPTION_SIZE,	 /* uint64_t, bytes */
	OPTION_COUNT,	 /* uint64_t */
	OPTION_CPUS,	 /* const char *, a valid list of CPUs */
	OPTION_ENUM,	 /* int or an enum: one of the choices */
	OPTION_STRING,	 /* const char *, not empty */
	OPTION_PARSED,	 /* parsed by its own function */
	OPTION_WORD,	 /* positional: const char *, not empty, or parsed */
	OPTION_REST,	 /* all arguments after `--`: char **, NULL-terminated */
	OPTION_SESSION,	 /* all options of the library: struct perf_poke_opts */
};

/* Both return 0, or a negative errno with *why: the values that would work. */

/* A time, duration, size or count from min to max. */
int option_number(enum option_kind kind, const char *value, uint64_t min, uint64_t max,
		  uint64_t *number, char **why) _must_check_;
int option_cpus(const char *value, char **why) _must_check_;

#endif
