// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
#include "base/caps.h"

#include <string.h>
#include <sys/capability.h>

#include "io.h"
#include "util.h"

struct need {
	cap_value_t cap;
	cap_value_t instead; /* grants it too */
	const char *name;
	bool realtime; /* only for real-time threads */
};

static const struct need needs[] = {
	{ CAP_BPF, CAP_SYS_ADMIN, "CAP_BPF", false },
	{ CAP_PERFMON, CAP_SYS_ADMIN, "CAP_PERFMON", false },
	{ CAP_SYS_NICE, CAP_SYS_NICE, "CAP_SYS_NICE", true },
};

static bool has(cap_t caps, cap_value_t cap)
{
	cap_flag_value_t value = CAP_CLEAR;

	return !cap_get_flag(caps, cap, CAP_EFFECTIVE, &value) && value == CAP_SET;
}

int caps_missing(bool realtime, char *names, size_t size)
{
	cap_t caps = cap_get_proc();
	size_t len = 0;

	if (!caps)
		return -errno;
	names[0] = '\0';
	for (size_t i = 0; i < ARRAY_SIZE(needs); i++) {
		if (needs[i].realtime > realtime || has(caps, needs[i].cap) ||
		    has(caps, needs[i].instead))
			continue;
		len += snprintf(names + len, size - len, "%s%s", len ? ", " : "", needs[i].name);
	}
	cap_free(caps);
	return len ? -EPERM : 0;
}

bool caps_locked_down(void)
{
	char levels[64];

	/* The active level is in brackets. */
	return !read_text_at(AT_FDCWD, "/sys/kernel/security/lockdown", levels, sizeof(levels)) &&
	       strstr(levels, "[confidentiality]");
}
