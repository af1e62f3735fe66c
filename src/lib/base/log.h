/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/*
 * base/: what the kernel and the machine offer, without knowing what a session is. May include
 * perf_poke.h, src/shared and the structs of bpf/.
 *
 * Messages go to the caller's function and nowhere else.
 */
#ifndef LIB_BASE_LOG_H
#define LIB_BASE_LOG_H

#include "perf_poke.h"
#include "util.h"

struct log {
	perf_poke_log_fn fn; /* NULL: messages are dropped */
	void *ctx;
};

void log_write(const struct log *log, enum perf_poke_log_level level, const char *format, ...)
	_printf_(3, 4);

/* Says why something failed, and returns `error`, so that a failure is one line. */
int log_error(const struct log *log, int error, const char *format, ...) _printf_(3, 4);

/* Sends libbpf's messages of this thread to `log`, as debug: what went wrong is said in our own
 * words. Until log_release(). libbpf keeps one function for the whole process: it is put back, and
 * other threads' messages still go to it. */
void log_capture(const struct log *log);
void log_release(void);

#endif
