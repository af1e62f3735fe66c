/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef DECODE_DEMANGLE_H
#define DECODE_DEMANGLE_H

/* The name of a function in C++ or Rust as perf shows it, without arguments, for the caller to
 * free. NULL: it is in another language, there is no memory, or libiberty was not there to build
 * with. What follows '@' is kept. */
char *demangle(const char *name);

#endif
