/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/* CPU hotplug during a session, from uevents. */
#ifndef LIB_BASE_HOTPLUG_H
#define LIB_BASE_HOTPLUG_H

#include <stdbool.h>
#include <stddef.h>

#include "base/log.h"

struct hotplug_event {
	int cpu;
	bool online;
};

/* Returns a socket that is readable when there may be an event, or a negative errno. */
int hotplug_open(const struct log *log);

/* Reads the oldest event: 1, or 0 if there is none. -ENOBUFS: events were lost. */
int hotplug_read(int fd, struct hotplug_event *event);

/* Returns 1, or 0 if the uevent is not about a CPU. */
int hotplug_parse(const char *uevent, size_t len, struct hotplug_event *event);

#endif
