/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef LIB_BASE_KFUNC_H
#define LIB_BASE_KFUNC_H

#include <stdbool.h>

/* Whether the kernel's BTF has a function of this name. */
bool kfunc_exists(const char *name);

#endif
