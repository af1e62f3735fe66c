/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef DECODE_DEMANGLE_H
#define DECODE_DEMANGLE_H

/* The name of a C++ or Rust function as perf shows it, without arguments, to be freed. NULL:
 * another language, out of memory, or built without libiberty. A suffix that begins with '@' is
 * kept. */
char *demangle(const char *name);

#endif
