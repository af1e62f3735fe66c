/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/* Rows of perf_poke__check(): a capability, how to probe it, and what to do without it. */
#ifndef LIB_BASE_PROBE_H
#define LIB_BASE_PROBE_H

#include <stdbool.h>

#include "base/log.h"

/* What the probe found, or why the capability is missing. */
struct probe_detail {
	char text[256];
};

struct probe {
	const char *name; /* NULL: not a row */
	const char *remedy;
	bool required;
	/* Returns 0 or a negative errno. If the function sets no detail, the errno is the
	 * detail. */
	int (*try)(struct probe_detail *detail);
	const char *purpose; /* NULL: the help of the choice */
};

void probe_say(struct probe_detail *detail, const char *format, ...) _printf_(2, 3);

/* A log that keeps the first error message as the detail. */
struct log probe_log(struct probe_detail *detail);

/* Whether the kernel's BTF has a function of this name. */
bool kfunc_exists(const char *name);

/* Whether this kernel function can have a fentry program. Attaches one that does nothing. */
bool function_has_trampoline(const char *function);

#endif
