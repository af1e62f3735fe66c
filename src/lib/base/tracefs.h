/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/* Access to tracefs, mounted or not. */
#ifndef LIB_BASE_TRACEFS_H
#define LIB_BASE_TRACEFS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Returns a directory descriptor of tracefs, owned by the caller. If tracefs is not mounted, it
 * belongs to a detached mount that goes away with it. -EPERM: may not be mounted; -EACCES: mounted
 * but not readable; -ENODEV: no tracefs in the kernel. */
int tracefs_open(void);

/* Describes an error of opening tracefs or one of its files: names the missing privilege. */
const char *tracefs_strerror(int err);

/* Whether the kernel has an event such as "timer/hrtimer_start". */
bool tracefs_has_event(const char *name);

/* Reads a file of an event such as "timer/hrtimer_start" or "timer:hrtimer_start". Returns 0 or a
 * negative errno, for tracefs_strerror(). */
int tracefs_read_event(const char *name, const char *file, char *text, size_t size);

/* perf's id of an event; the same errors, and 0 then. */
int tracefs_event_id(const char *name, uint64_t *id);

/* That of the tracepoint in bpf_trace_printk(). */
uint64_t tracefs_printk_id(void);

#endif
