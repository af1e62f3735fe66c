/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/* Functions of a program or library. */
#ifndef LIB_TRIGGER_ELF_FUNCTION_H
#define LIB_TRIGGER_ELF_FUNCTION_H

#include <stdint.h>

/* The file offset of a function. `name` is a name of the symbol table, or a C++ name such as
 * ns::Class::method without arguments. Prefers the default version. -ENOENT: none; -ENOTUNIQ:
 * several; -ENOEXEC: not an ELF file. */
int elf_function_find(const char *file, const char *name, uint64_t *offset);

#endif
