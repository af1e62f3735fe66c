/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/* What the program marker_write looks for, as tables. */
#ifndef LIB_TRIGGER_MARKER_H
#define LIB_TRIGGER_MARKER_H

#include "bpf/marker_text.h"

/* word: 1 to MARKER_WORD_MAX bytes. The tables are zeroed; they have MARKER_CHARACTERS entries, and
 * as many for each of MARKER_STATES: see marker_step(). */
void marker_make(__u8 *classes, __u8 *next, const char *word);

#endif
