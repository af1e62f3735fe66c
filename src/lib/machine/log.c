// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
#include "machine/base.h"

#include <pthread.h>
#include <stdarg.h>
#include <string.h>

#include <bpf/libbpf.h>

/* of this thread's last library call */
static __thread char last_error[512];

static void log_write_va(const struct log *log, enum perf_poke_log_level level, const char *format,
			 va_list ap)
{
	_cleanup_free_ char *msg = NULL;
	size_t len;

	if ((!log->fn && level != PERF_POKE_LOG_ERROR) || vasprintf(&msg, format, ap) < 0) {
		msg = NULL;
		return;
	}
	len = strlen(msg);
	while (len && msg[len - 1] == '\n')
		msg[--len] = '\0';
	if (level == PERF_POKE_LOG_ERROR)
		snprintf(last_error, sizeof(last_error), "%s", msg);
	if (log->fn)
		log->fn(log->ctx, level, msg);
}

void log_write(const struct log *log, enum perf_poke_log_level level, const char *format, ...)
{
	va_list ap;

	va_start(ap, format);
	log_write_va(log, level, format, ap);
	va_end(ap);
}

int log_error(const struct log *log, int error, const char *format, ...)
{
	va_list ap;

	va_start(ap, format);
	log_write_va(log, PERF_POKE_LOG_ERROR, format, ap);
	va_end(ap);
	return error;
}

void last_error_clear(void)
{
	last_error[0] = '\0';
}

int last_error_return(int ret)
{
	if (ret >= 0)
		last_error[0] = '\0';
	else if (!last_error[0])
		snprintf(last_error, sizeof(last_error), "%s", strerror(-ret));
	return ret;
}

const char *perf_poke__last_error(void)
{
	return last_error;
}

const char *perf_poke__version(void)
{
	return PERF_POKE_VERSION;
}

/* libbpf's print function has no context argument, so each thread sets its log here. The function
 * is global to the process: the first thread that captures installs ours, the last one restores the
 * previous_print_fn one. */
static __thread const struct log *capturing;
static pthread_mutex_t print_fn_lock = PTHREAD_MUTEX_INITIALIZER;
static unsigned int nr_capturing;
static _Atomic(libbpf_print_fn_t) previous_print_fn;

static int log_libbpf_message(enum libbpf_print_level level, const char *format, va_list ap)
{
	libbpf_print_fn_t fn = previous_print_fn;

	if (!capturing)
		return fn ? fn(level, format, ap) : 0;
	log_write_va(capturing, PERF_POKE_LOG_DEBUG, format, ap);
	return 0;
}

const struct log *log_capture_libbpf(const struct log *log)
{
	const struct log *outer = capturing;

	capturing = log;
	pthread_mutex_lock(&print_fn_lock);
	if (!nr_capturing++)
		previous_print_fn = libbpf_set_print(log_libbpf_message);
	pthread_mutex_unlock(&print_fn_lock);
	return outer;
}

void log_release_libbpf(const struct log *outer)
{
	libbpf_print_fn_t current;

	pthread_mutex_lock(&print_fn_lock);
	if (!--nr_capturing) {
		current = libbpf_set_print(previous_print_fn);
		/* Keep a function that others have installed since. */
		if (current != log_libbpf_message)
			libbpf_set_print(current);
	}
	pthread_mutex_unlock(&print_fn_lock);
	capturing = outer;
}
