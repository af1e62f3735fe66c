/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/* Text in trace_marker as a trigger: see struct trigger_row. */
#ifndef LIB_TRIGGER_MARKER_H
#define LIB_TRIGGER_MARKER_H

#include "base/base.h"
#include "bpf/marker_text.h"
#include "options/config.h"

struct trigger;
struct trigger_config;

int marker_check(struct config *config);
int marker_load(struct trigger *trigger, const struct trigger_config *config,
		const struct log *log);
/* Whether the kernel loads the program. */
int marker_try(struct probe_detail *detail);

/* Builds the search tables of the program. word: 1 to MARKER_WORD_MAX bytes. The tables are zeroed,
 * with MARKER_CHARACTERS entries, and as many for each of MARKER_STATES: see marker_step(). */
void marker_make(__u8 *classes, __u8 *next, const char *word);

#endif
