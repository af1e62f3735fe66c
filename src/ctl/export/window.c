// SPDX-License-Identifier: GPL-2.0-only
#include "export/export.h"

#include <stdbool.h>
#include <string.h>

#include "clock.h"
#include "units.h"

#define DIGITS "0123456789"

/* Digits with one point. */
static int parse_seconds(const char *s, uint64_t *ns)
{
	_cleanup_free_ char *whole = strndup(s, strcspn(s, "."));
	const char *fraction = strchr(s, '.') + 1;
	uint64_t scale = NSEC_PER_SEC;
	uint64_t seconds;
	int r;

	if (!whole)
		return -ENOMEM;
	if (!*fraction || strlen(fraction) > 9)
		return -EINVAL;
	r = units_parse_count(whole, &seconds);
	if (r)
		return r;
	if (__builtin_mul_overflow(seconds, NSEC_PER_SEC, ns))
		return -ERANGE;
	for (; *fraction; fraction++) {
		scale /= 10;
		if (__builtin_add_overflow(*ns, (uint64_t)(*fraction - '0') * scale, ns))
			return -ERANGE;
	}
	return 0;
}

static int parse_relative(const char *s, uint64_t spike, uint64_t *ns)
{
	bool before = *s == '-';
	uint64_t distance;
	int r;

	if (!spike)
		return -ENOENT;
	r = units_parse_time(s + (*s == '-' || *s == '+'), &distance);
	if (r)
		return r;
	if (before)
		*ns = distance < spike ? spike - distance : 0;
	else if (__builtin_add_overflow(spike, distance, ns))
		return -ERANGE;
	return 0;
}

static int parse_side(const char *s, uint64_t spike, uint64_t *ns)
{
	const char *point = strchr(s, '.');

	if (!*s)
		return 0;
	if (point && strspn(s, DIGITS ".") == strlen(s) && !strchr(point + 1, '.'))
		return parse_seconds(s, ns);
	return parse_relative(s, spike, ns);
}

int window_parse(const char *s, uint64_t spike, uint64_t *begin, uint64_t *end)
{
	_cleanup_free_ char *first = strndup(s, strcspn(s, ","));
	const char *second = strchr(s, ',');
	uint64_t from = 0, to = UINT64_MAX;
	int r;

	if (!first)
		return -ENOMEM;
	if (!second)
		return -EINVAL;
	r = parse_side(first, spike, &from);
	if (!r)
		r = parse_side(second + 1, spike, &to);
	if (r)
		return r;
	if (to <= from)
		return -ERANGE;
	*begin = from;
	*end = to;
	return 0;
}
