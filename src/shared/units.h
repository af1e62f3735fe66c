/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/* Times and sizes as people write them. Independent of the locale. */
#ifndef SHARED_UNITS_H
#define SHARED_UNITS_H

#include <stddef.h>
#include <stdint.h>

#include "util.h"

/* Room for any formatted time or size. */
#define UNITS_MAX 24
/* And for a count with its noun. */
#define COUNT_MAX 48

/*
 * `30us`, `1.5ms`, `2h`; a bare number is microseconds. What is less than a nanosecond is dropped.
 * Returns 0, -EINVAL if malformed, -ERANGE if it does not fit; *ns is written on success only.
 */
int units_parse_time(const char *s, uint64_t *ns) _must_check_;

/* The same for how long a run takes, as `90s`, `3h`, `2d`: a bare number is seconds. */
int units_parse_duration(const char *s, uint64_t *ns) _must_check_;

/* `4096`, `16M`: whole numbers, with K, M or G (powers of 1024; lower case too). Returns as above.
 */
int units_parse_size(const char *s, uint64_t *bytes) _must_check_;

/* A whole number in decimal digits and nothing else. Returns as above. */
int units_parse_count(const char *s, uint64_t *count) _must_check_;

/* Three digits at most, as `83.2us`; from a minute on, as `2m03s` and `2h03m`. Returns buf. */
const char *units_format_time(char *buf, size_t size, uint64_t ns);

/* One decimal at most, as `512B` and `3.2M`. Returns buf. */
const char *units_format_size(char *buf, size_t size, uint64_t bytes);

/* `1 spike`, `2 spikes`. Returns buf. */
const char *units_format_count(char *buf, size_t size, uint64_t count, const char *one,
			       const char *many);

/* For the arguments of one printf; the text lives as long as the enclosing block. */
#define FORMAT_TIME(ns) units_format_time((char[UNITS_MAX]){ 0 }, UNITS_MAX, ns)
#define FORMAT_SIZE(bytes) units_format_size((char[UNITS_MAX]){ 0 }, UNITS_MAX, bytes)
#define FORMAT_COUNT(count, one, many)                                                             \
	units_format_count((char[COUNT_MAX]){ 0 }, COUNT_MAX, count, one, many)

#endif
