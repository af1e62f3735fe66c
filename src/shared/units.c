// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
#include "units.h"

#include <inttypes.h>
#include <stdbool.h>
#include <string.h>

#include "clock.h"
#include "cpulist.h"
#include "text.h"

static bool is_decimal_digit(char c)
{
	return c >= '0' && c <= '9';
}

/* Advances *s past the digits, even on overflow. */
static int parse_digits(const char **s, uint64_t *value)
{
	uint64_t sum = 0;
	int err = 0;

	if (!is_decimal_digit(**s))
		return -EINVAL;
	for (; is_decimal_digit(**s); (*s)++) {
		if (__builtin_mul_overflow(sum, 10, &sum) ||
		    __builtin_add_overflow(sum, (uint64_t)(**s - '0'), &sum))
			err = -ERANGE;
	}
	*value = sum;
	return err;
}

/* Leaves *unit unchanged if the name is empty. */
static int find_time_unit(const char *name, uint64_t *unit)
{
	static const struct {
		const char *name;
		uint64_t ns;
	} units[] = {
		{ "ns", 1 },
		{ "us", NSEC_PER_USEC },
		{ "ms", NSEC_PER_MSEC },
		{ "s", NSEC_PER_SEC },
		{ "m", NSEC_PER_MIN },
		{ "h", NSEC_PER_HOUR },
		{ "d", 24 * NSEC_PER_HOUR },
	};

	if (!*name)
		return 0;
	for (size_t i = 0; i < ARRAY_SIZE(units); i++) {
		if (!strcmp(name, units[i].name)) {
			*unit = units[i].ns;
			return 0;
		}
	}
	return -EINVAL;
}

/* A bare number is in `unit`. */
static int parse_time_in_unit(const char *s, uint64_t unit, uint64_t *ns)
{
	const char *fraction = NULL;
	uint64_t whole, value;
	int range, err;

	range = parse_digits(&s, &whole);
	if (range == -EINVAL)
		return range;
	if (*s == '.') {
		fraction = ++s;
		if (!is_decimal_digit(*s))
			return -EINVAL;
		while (is_decimal_digit(*s))
			s++;
	}
	err = find_time_unit(s, &unit);
	if (err)
		return err;
	if (range || __builtin_mul_overflow(whole, unit, &value))
		return -ERANGE;
	for (; fraction && is_decimal_digit(*fraction); fraction++) {
		unit /= 10;
		if (__builtin_add_overflow(value, unit * (uint64_t)(*fraction - '0'), &value))
			return -ERANGE;
	}
	*ns = value;
	return 0;
}

int units_parse_time(const char *s, uint64_t *ns)
{
	return parse_time_in_unit(s, NSEC_PER_USEC, ns);
}

int units_parse_duration(const char *s, uint64_t *ns)
{
	return parse_time_in_unit(s, NSEC_PER_SEC, ns);
}

int units_parse_size(const char *s, uint64_t *bytes)
{
	static const char suffixes[] = "KkMmGg";
	unsigned int shift = 0;
	uint64_t value;
	int err;

	err = parse_digits(&s, &value);
	if (err == -EINVAL)
		return err;
	if (*s) {
		const char *suffix = strchr(suffixes, *s);

		if (!suffix || s[1])
			return -EINVAL;
		shift = 10 * ((suffix - suffixes) / 2 + 1);
	}
	if (err || value > UINT64_MAX >> shift)
		return -ERANGE;
	*bytes = value << shift;
	return 0;
}

int units_parse_count(const char *s, uint64_t *count)
{
	uint64_t value;
	int err;

	err = parse_digits(&s, &value);
	if (err == -EINVAL || *s)
		return -EINVAL;
	if (err)
		return err;
	*count = value;
	return 0;
}

static const char *format_long_time(char *buf, size_t size, uint64_t ns)
{
	uint64_t seconds = ns / NSEC_PER_SEC + (ns % NSEC_PER_SEC >= NSEC_PER_SEC / 2);
	uint64_t major = seconds / 60, minor = seconds % 60;
	char major_unit = 'm', minor_unit = 's';

	if (seconds >= 3600) {
		uint64_t minutes = (seconds + 30) / 60;

		major = minutes / 60;
		minor = minutes % 60;
		major_unit = 'h';
		minor_unit = 'm';
	}
	if (minor)
		snprintf(buf, size, "%" PRIu64 "%c%02" PRIu64 "%c", major, major_unit, minor,
			 minor_unit);
	else
		snprintf(buf, size, "%" PRIu64 "%c", major, major_unit);
	return buf;
}

const char *units_format_time(char *buf, size_t size, uint64_t ns)
{
	static const char *const names[] = { "ns", "us", "ms", "s" };
	uint64_t step = 1, unit = 1, thousandths;
	size_t name = 0;
	int decimals = 3;

	if (ns >= NSEC_PER_MIN)
		return format_long_time(buf, size, ns);
	while (ns / step >= 1000)
		step *= 10;
	ns = (ns + step / 2) / step * step;
	if (ns >= NSEC_PER_MIN)
		return format_long_time(buf, size, ns);

	for (; ns / unit >= 1000; name++)
		unit *= 1000;
	/* ns is rounded to three significant digits, so three decimals lose nothing. */
	thousandths = ns % unit * 1000 / unit;
	for (; decimals && thousandths % 10 == 0; decimals--)
		thousandths /= 10;
	if (decimals)
		snprintf(buf, size, "%" PRIu64 ".%0*" PRIu64 "%s", ns / unit, decimals, thousandths,
			 names[name]);
	else
		snprintf(buf, size, "%" PRIu64 "%s", ns / unit, names[name]);
	return buf;
}

const char *units_format_size(char *buf, size_t size, uint64_t bytes)
{
	static const char names[] = { 'B', 'K', 'M', 'G' };
	uint64_t whole = bytes, rest = 0;
	size_t name = 0;

	/* 973/1024 rounds up to 1.0, so that 1023.96K becomes 1M. */
	while (name + 1 < ARRAY_SIZE(names) && whole + (rest >= 973) >= 1024) {
		rest = whole % 1024;
		whole /= 1024;
		name++;
	}
	rest = (rest * 10 + 512) / 1024;
	if (rest == 10) {
		whole++;
		rest = 0;
	}
	if (rest)
		snprintf(buf, size, "%" PRIu64 ".%" PRIu64 "%c", whole, rest, names[name]);
	else
		snprintf(buf, size, "%" PRIu64 "%c", whole, names[name]);
	return buf;
}

const char *units_format_count(char *buf, size_t size, uint64_t count, const char *one,
			       const char *many)
{
	snprintf(buf, size, "%" PRIu64 " %s", count, count == 1 ? one : many);
	return buf;
}

static const char *bare_number_unit(enum option_kind kind)
{
	return kind == OPTION_DURATION ? "seconds" : "microseconds";
}

static int check_number_range(enum option_kind kind, uint64_t value, uint64_t min, uint64_t max,
			      char **why)
{
	bool low = value < min;
	uint64_t limit = low ? min : max;
	const char *than = low ? "more" : "less";

	if (!low && value <= max)
		return 0;
	switch (kind) {
	case OPTION_TIME:
	case OPTION_DURATION:
		return say_why(why, -EINVAL, "must be %s or %s (a bare number is %s)",
			       FORMAT_TIME(limit), than, bare_number_unit(kind));
	case OPTION_SIZE:
		return say_why(why, -EINVAL, "must be %s or %s", FORMAT_SIZE(limit), than);
	default:
		return say_why(why, -EINVAL, "must be %llu or %s", (unsigned long long)limit, than);
	}
}

int option_number(enum option_kind kind, const char *value, uint64_t min, uint64_t max,
		  uint64_t *number, char **why)
{
	const char *want;
	int err;

	if (kind == OPTION_TIME) {
		err = units_parse_time(value, number);
		want = "not a time (use 30us, 1.5ms, 2s; a bare number is microseconds)";
	} else if (kind == OPTION_DURATION) {
		err = units_parse_duration(value, number);
		want = "not a duration (use 90s, 30m, 3h, 2d; a bare number is seconds)";
	} else if (kind == OPTION_SIZE) {
		err = units_parse_size(value, number);
		want = "not a size (use 65536, 512K, 16M, 1G)";
	} else {
		err = units_parse_count(value, number);
		want = "not a whole number";
	}
	if (err == -EINVAL)
		return say_why(why, err, "%s", want);
	return check_number_range(kind, err ? UINT64_MAX : *number, min, max, why);
}

int option_cpus(const char *value, char **why)
{
	_cleanup_free_ int *cpus = NULL;
	size_t nr;
	int err = cpulist_parse(value, &cpus, &nr);

	if (err == -ERANGE)
		return say_why(why, err, "CPUs are 0 to %d", CPULIST_MAX_CPUS - 1);
	if (err == -EINVAL)
		return say_why(why, err, "not a list of CPUs (use 3 or 2,4-7)");
	return err;
}
