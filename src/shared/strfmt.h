/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef SHARED_STRFMT_H
#define SHARED_STRFMT_H

#include "util.h"

/* asprintf() that returns the allocated string, or NULL if out of memory. */
char *strfmt(const char *format, ...) _printf_(1, 2) _must_check_;

#endif
