/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/* Rows of perf_poke__check(): a capability that is tried, and what to do without it. */
#ifndef LIB_BASE_PROBE_H
#define LIB_BASE_PROBE_H

#include <stdbool.h>

#include "base/log.h"

/* What was found, or why the capability is missing. */
struct probe_detail {
	char text[256];
};

struct probe {
	const char *name; /* NULL: not a row */
	const char *remedy;
	bool required;
	/* 0 or a negative errno, which is the detail if this sets none. */
	int (*try)(struct probe_detail *detail);
	const char *purpose; /* NULL: the choice's help */
};

void probe_say(struct probe_detail *detail, const char *format, ...) _printf_(2, 3);

/* Keeps the first error message as the detail. */
struct log probe_log(struct probe_detail *detail);

/* Whether the kernel's BTF has a function of this name. */
bool kfunc_exists(const char *name);

/* Whether the kernel attaches a program to this function of its own by a trampoline (fentry):
 * tried, with one that does nothing. */
bool function_has_trampoline(const char *function);

#endif
