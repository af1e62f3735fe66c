/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/* Kernel symbols, read from /proc/kallsyms when asked: nothing is kept in memory. */
#ifndef LIB_KALLSYMS_H
#define LIB_KALLSYMS_H

#include <stddef.h>
#include <stdint.h>

/* The address of a function by name. -ENOENT: no such symbol; -ENOTUNIQ: several have that name
 * (`address` is the first); -EPERM: the kernel hides its addresses from this process. */
int kallsyms_find(const char *name, uint64_t *address);

/* The symbol that begins at `address`. -ENOENT: none does. */
int kallsyms_name(uint64_t address, char *name, size_t size);

#endif
