/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/* Kernel symbols, read from /proc/kallsyms when asked: nothing is kept in memory. */
#ifndef LIB_BASE_KALLSYMS_H
#define LIB_BASE_KALLSYMS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Where a function's code is. */
struct symbol_range {
	uint64_t start, size; /* size 0: not known */
	bool global;
};

/* The address of a function by name. -ENOENT: no such symbol; -ENOTUNIQ: several have that name
 * (`address` is the first); -EPERM: the kernel hides its addresses from this process. */
int kallsyms_find(const char *name, uint64_t *address);

/* Whether the kernel hides its addresses from this process: -EPERM, else 0 or another errno. */
int kallsyms_check(void);

/* The symbol that begins at `address`. -ENOENT: none does. */
int kallsyms_name(uint64_t address, char *name, size_t size);

/* All functions of that name, in order, for the caller to free. They end where the next symbol
 * begins. -ENOENT: there is none; -EPERM as above. */
int kallsyms_ranges(const char *name, struct symbol_range **ranges, size_t *nr);

/* From the first function to behind the last. */
int kallsyms_whole(struct symbol_range *range);

#endif
