/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef LIB_OPTIONS_SESSION_NAME_H
#define LIB_OPTIONS_SESSION_NAME_H

#include <stdbool.h>

#define SESSION_NAME_MAX 63

/* 1 to SESSION_NAME_MAX of A-Z a-z 0-9 . _ - other than "." and "..". */
bool session_name_valid(const char *name);

#endif
