/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/* Prefixes and suffixes of strings. */
#ifndef SHARED_AFFIX_H
#define SHARED_AFFIX_H

#include <stdbool.h>
#include <stddef.h>
#include <string.h>

static inline bool has_prefix(const char *text, const char *prefix)
{
	return !strncmp(text, prefix, strlen(prefix));
}

static inline bool has_suffix(const char *text, const char *suffix)
{
	size_t length = strlen(text), wanted = strlen(suffix);

	return length >= wanted && !strcmp(text + length - wanted, suffix);
}

#endif
