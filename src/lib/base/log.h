/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/*
 * base/: the kernel and the machine; knows nothing of sessions. May include perf_poke.h, src/shared
 * and the structs of bpf/.
 *
 * Messages go to the caller's function only.
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

/* Logs why something failed and returns `error`, for use in a return statement. */
int log_error(const struct log *log, int error, const char *format, ...) _printf_(3, 4);

/* Enclose a function whose error perf_poke__last_error() returns. log_leave() returns ret. */
void log_enter(void);
int log_leave(int ret);

/* Until log_release(), logs libbpf's messages of this thread as debug messages. libbpf has one
 * print function for the process: messages of other threads still go to the caller's, which
 * log_release() restores. */
void log_capture(const struct log *log);
void log_release(void);

#endif
