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

/* A socket that is readable when there may be an event. Returns it, or a negative errno with a
 * debug message. */
int hotplug_open(const struct log *log);

/* 1 and the oldest event that was not read yet, or 0. -ENOBUFS: some were lost. */
int hotplug_read(int fd, struct hotplug_event *event);

/* 1 and the event, or 0: the uevent is of something else. */
int hotplug_parse(const char *uevent, size_t len, struct hotplug_event *event);

#endif
