/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef MADE_FINGERPRINT_H
#define MADE_FINGERPRINT_H

#include <stdio.h>
#include <string.h>

#include "cause/fingerprint.h"
#include "util.h"

/* chain: innermost first, separated by `<`. */
static inline struct fingerprint made(const char *kind, const char *chain)
{
	struct fingerprint fingerprint = { 0 };
	_cleanup_free_ char *copy = strdup(chain);
	char *rest = copy, *frame;

	snprintf(fingerprint.kind, sizeof(fingerprint.kind), "%s", kind);
	while ((frame = strsep(&rest, "<")))
		snprintf(fingerprint.frames[fingerprint.nr++], FINGERPRINT_NAME_SIZE, "%s", frame);
	fingerprint_seal(&fingerprint);
	return fingerprint;
}

#endif
