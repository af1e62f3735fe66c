// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
#include "option_value.h"

#include <stdbool.h>

#include "cpulist.h"
#include "units.h"

static const char *bare_unit(enum option_kind kind)
{
	return kind == OPTION_DURATION ? "seconds" : "microseconds";
}

static int check_range(enum option_kind kind, uint64_t value, uint64_t min, uint64_t max,
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
			       FORMAT_TIME(limit), than, bare_unit(kind));
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
	int r;

	if (kind == OPTION_TIME) {
		r = units_parse_time(value, number);
		want = "not a time (use 30us, 1.5ms, 2s; a bare number is microseconds)";
	} else if (kind == OPTION_DURATION) {
		r = units_parse_duration(value, number);
		want = "not a duration (use 90s, 30m, 3h, 2d; a bare number is seconds)";
	} else if (kind == OPTION_SIZE) {
		r = units_parse_size(value, number);
		want = "not a size (use 65536, 512K, 16M, 1G)";
	} else {
		r = units_parse_count(value, number);
		want = "not a whole number";
	}
	if (r == -EINVAL)
		return say_why(why, r, "%s", want);
	return check_range(kind, r ? UINT64_MAX : *number, min, max, why);
}

int option_cpus(const char *value, char **why)
{
	_cleanup_free_ int *cpus = NULL;
	size_t nr;
	int r = cpulist_parse(value, &cpus, &nr);

	if (r == -ERANGE)
		return say_why(why, r, "CPUs are 0 to %d", CPULIST_MAX_CPUS - 1);
	if (r == -EINVAL)
		return say_why(why, r, "not a list of CPUs (use 3 or 2,4-7)");
	return r;
}
