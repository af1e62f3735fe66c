// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
#include "machine/base.h"

#include <inttypes.h>
#include <sched.h>
#include <string.h>
#include <sys/syscall.h>

#include "units.h"
#include "util.h"

/* glibc 2.41 is the first with wrappers of these system calls. */
int scheduling_set(int tid, const struct scheduling *attr)
{
	return syscall(SYS_sched_setattr, tid, attr, 0) ? -errno : 0;
}

int scheduling_get(int tid, struct scheduling *attr)
{
	return syscall(SYS_sched_getattr, tid, attr, sizeof(*attr), 0) ? -errno : 0;
}

static int parse_number(const char *text, long min, long max, long *value)
{
	char *end;

	errno = 0;
	*value = strtol(text, &end, 10);
	return end == text || *end || errno || *value < min || *value > max ? -EINVAL : 0;
}

static int parse_deadline(const char *text, struct scheduling *attr)
{
	const char *colon = strchr(text, ':');
	_cleanup_free_ char *runtime = colon ? strndup(text, colon - text) : NULL;
	uint64_t runtime_ns, period_ns;

	if (!colon)
		return -EINVAL;
	if (!runtime)
		return -ENOMEM;
	if (units_parse_time(runtime, &runtime_ns) || units_parse_time(colon + 1, &period_ns))
		return -EINVAL;
	/* The kernel's minimum. */
	if (runtime_ns < 1024 || runtime_ns > period_ns)
		return -EINVAL;
	attr->policy = SCHED_DEADLINE;
	attr->runtime = runtime_ns;
	attr->deadline = attr->period = period_ns;
	return 0;
}

int scheduling_parse(const char *text, struct scheduling *attr)
{
	long value;

	*attr = (struct scheduling){ .size = sizeof(*attr) };
	if (!text[0] || text[1] != ':')
		return -EINVAL;
	switch (text[0]) {
	case 'f':
	case 'r':
		if (parse_number(text + 2, 1, 99, &value))
			return -EINVAL;
		attr->policy = text[0] == 'f' ? SCHED_FIFO : SCHED_RR;
		attr->priority = value;
		return 0;
	case 'o':
		if (parse_number(text + 2, -20, 19, &value))
			return -EINVAL;
		attr->policy = SCHED_OTHER;
		attr->nice = value;
		return 0;
	case 'd':
		return parse_deadline(text + 2, attr);
	default:
		return -EINVAL;
	}
}

const char *scheduling_advice(const struct scheduling *attr, int err)
{
	/* SCHED_DEADLINE needs an affinity to all CPUs of the root domain. */
	if (attr->policy == SCHED_DEADLINE && err == -EPERM)
		return " (SCHED_DEADLINE needs a cpuset partition of that CPU alone)";
	return "";
}

void scheduling_format(const struct scheduling *attr, char *text, size_t size)
{
	if (attr->policy == SCHED_DEADLINE)
		snprintf(text, size, "d:%" PRIu64 "ns:%" PRIu64 "ns", (uint64_t)attr->runtime,
			 (uint64_t)attr->period);
	else if (attr->policy == SCHED_OTHER)
		snprintf(text, size, "o:%d", attr->nice);
	else
		snprintf(text, size, "%c:%u", attr->policy == SCHED_FIFO ? 'f' : 'r',
			 attr->priority);
}
