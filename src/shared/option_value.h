/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/* Values of options, of a command line or of a library. */
#ifndef SHARED_OPTION_VALUE_H
#define SHARED_OPTION_VALUE_H

#include <stdint.h>

#include "explain.h"

enum option_kind {
	OPTION_FLAG,	 /* bool */
	OPTION_TIME,	 /* uint64_t, ns; a bare number is microseconds */
	OPTION_DURATION, /* uint64_t, ns; a bare number is seconds */
	OPTION_SIZE,	 /* uint64_t, bytes */
	OPTION_COUNT,	 /* uint64_t */
	OPTION_CPUS,	 /* const char *, a valid list of CPUs */
	OPTION_ENUM,	 /* int or an enum: one of the choices */
	OPTION_STRING,	 /* const char *, not empty */
	OPTION_PARSED,	 /* by a function of its own */
	OPTION_WORD, /* a positional argument, without a name: const char *, not empty, or parsed */
	OPTION_REST, /* char **, NULL-terminated: all after `--`, without a name */
	OPTION_SESSION, /* struct perf_poke_opts: stands for all options of the library */
};

/* Both return 0, or a negative errno with *why: what the value should be. */

/* A time, duration, size or count from min to max. */
int option_number(enum option_kind kind, const char *value, uint64_t min, uint64_t max,
		  uint64_t *number, char **why) _must_check_;
int option_cpus(const char *value, char **why) _must_check_;

#endif
