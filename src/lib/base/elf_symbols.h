/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/* Functions of programs and shared libraries, by where in the file they are. */
#ifndef LIB_BASE_ELF_SYMBOLS_H
#define LIB_BASE_ELF_SYMBOLS_H

#include "base/kallsyms.h"

/* All functions of that name, by address, for the caller to free; `start` is an offset in the file.
 * -ENOENT: there is none; -ENOEXEC: not an ELF file that is mapped; -errno of open(). */
int elf_symbols_ranges(const char *path, const char *name, struct symbol_range **ranges,
		       size_t *nr);

#endif
