/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/* The functions of a program or library. */
#ifndef LIB_TRIGGER_ELF_FUNCTION_H
#define LIB_TRIGGER_ELF_FUNCTION_H

#include <stdint.h>

/* The offset in the file of a function: a name as the symbol table has it, or one of C++ as
 * written, such as ns::Class::method, without arguments. Of a symbol with versions the default one.
 * -ENOENT: there is none; -ENOTUNIQ: several; -ENOEXEC: not an ELF file. */
int elf_function_find(const char *file, const char *name, uint64_t *offset);

#endif
