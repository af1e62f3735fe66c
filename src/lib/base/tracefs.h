/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/* Access to tracefs, mounted or not. */
#ifndef LIB_BASE_TRACEFS_H
#define LIB_BASE_TRACEFS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* A directory descriptor of tracefs, owned by the caller. Where it is not mounted, of a mount of
 * our own that is attached nowhere and goes away with the descriptor. -EPERM: it cannot be mounted;
 * -EACCES: it is, and is not for us to read; -ENODEV: the kernel has none. */
int tracefs_open(void);

/* Why it, or a file of it, cannot be had: what right is missing. */
const char *tracefs_strerror(int err);

/* The first line of a file of it, or of any other by its whole name. Returns 0 or a negative
 * errno. */
int tracefs_read(int tracefs, const char *name, char *text, size_t size);

/* Whether the kernel has an event, as "timer/hrtimer_start". */
bool tracefs_has_event(const char *name);

/* For perf: what BPF programs print, by bpf_trace_printk(), is this tracepoint. 0: there is none,
 * or not for us. */
uint64_t tracefs_printk_id(void);

#endif
