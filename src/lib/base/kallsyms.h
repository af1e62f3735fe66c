/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/* Kernel symbols, read from /proc/kallsyms at each call. */
#ifndef LIB_BASE_KALLSYMS_H
#define LIB_BASE_KALLSYMS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct symbol_range {
	uint64_t start, size; /* size 0: unknown */
	bool global;
};

/* The address of a function. -ENOENT: no such symbol; -ENOTUNIQ: several have this name, and
 * `address` is the first; -EPERM: the kernel hides its addresses. */
int kallsyms_find(const char *name, uint64_t *address);

/* Whether the kernel lists this symbol; data symbols need CONFIG_KALLSYMS_ALL. */
bool kallsyms_has(const char *name);

/* Returns -EPERM if the kernel hides its addresses, else 0. */
int kallsyms_check(void);

/* The function that contains an address. */
struct kallsyms_place {
	uint64_t address;
	uint64_t start; /* of the function; 0: unknown */
	char name[128];
	char module[64]; /* empty: not in a module */
};

/* Finds the functions of many addresses at once. Code that is gone has none. */
int kallsyms_places(struct kallsyms_place *places, size_t nr);

/* All functions of this name, in the file's order; the caller frees them. Each ends where the next
 * symbol begins. -ENOENT, -EPERM as above. */
int kallsyms_ranges(const char *name, struct symbol_range **ranges, size_t *nr);

/* From the first function to the end of the last. */
int kallsyms_whole(struct symbol_range *range);

/* Describes an error of the functions above. */
const char *kallsyms_strerror(int err);

#endif
