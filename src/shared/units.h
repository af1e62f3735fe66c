/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/* Parses and formats times, sizes and counts, independently of the locale, and values of options.
 */
#ifndef SHARED_UNITS_H
#define SHARED_UNITS_H

#include <stddef.h>
#include <stdint.h>

#include "util.h"

/* Buffer size for any time or size, and for a count with its noun. */
#define UNITS_MAX 24
#define COUNT_MAX 64

/*
 * A time such as `30us`, `1.5ms`, `2h`; a bare number is microseconds. Fractions of a nanosecond
 * are truncated. The parsers return 0, -EINVAL if malformed or -ERANGE on overflow, and set the
 * result on success only.
 */
int units_parse_time(const char *s, uint64_t *ns) _must_check_;

/* A duration such as `90s`, `3h`, `2d`; a bare number is seconds. */
int units_parse_duration(const char *s, uint64_t *ns) _must_check_;

/* A size such as `4096`, `16M`: an integer, with K, M or G (powers of 1024) in either case. */
int units_parse_size(const char *s, uint64_t *bytes) _must_check_;

/* Decimal digits only. */
int units_parse_count(const char *s, uint64_t *count) _must_check_;

/* Up to three significant digits: `83.2us`; from one minute on `2m03s`, `2h03m`. Returns buf. */
const char *units_format_time(char *buf, size_t size, uint64_t ns);

/* Up to one decimal: `512B`, `3.2M`. Returns buf. */
const char *units_format_size(char *buf, size_t size, uint64_t bytes);

/* `1 spike`, `2 spikes`. Returns buf. */
const char *units_format_count(char *buf, size_t size, uint64_t count, const char *one,
			       const char *many);

/* For arguments of printf(); the text is valid until the enclosing block ends. */
#define FORMAT_TIME(ns) units_format_time((char[UNITS_MAX]){ 0 }, UNITS_MAX, ns)
#define FORMAT_SIZE(bytes) units_format_size((char[UNITS_MAX]){ 0 }, UNITS_MAX, bytes)
#define FORMAT_COUNT(count, one, many)                                                             \
	units_format_count((char[COUNT_MAX]){ 0 }, COUNT_MAX, count, one, many)

/* Values of options, for a command line or a library. */
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
