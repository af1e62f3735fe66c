/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef DECODE_DEMANGLE_H
#define DECODE_DEMANGLE_H

/* The name of a C++ or Rust function as perf shows it, without arguments, to be freed. Keeps a
 * suffix that begins with '@'. NULL: another language, out of memory, or built without
 * libiberty. */
char *demangle(const char *name);

#endif
