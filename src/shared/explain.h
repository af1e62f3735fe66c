/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef SHARED_EXPLAIN_H
#define SHARED_EXPLAIN_H

#include "util.h"

/* Sets *why to the reason of a failure, allocated and printable. Returns r, or -ENOMEM without
 * *why. */
int say_why(char **why, int r, const char *format, ...) _printf_(3, 4);

/* Appends to a list such as "one, two"; NULL is empty. Out of memory, the list becomes NULL. */
void explain_list(char **list, const char *item);

#endif
