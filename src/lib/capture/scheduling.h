/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/* Why the scheduler may keep a runnable thread from the CPU: limits of the system and of the
 * thread's cgroup. */
#ifndef LIB_CAPTURE_SCHEDULING_H
#define LIB_CAPTURE_SCHEDULING_H

#include <json-c/json.h>

/* root_fd: of "/". tid: the late thread; 0: none. */
struct json_object *scheduling_json(int root_fd, int tid);

#endif
