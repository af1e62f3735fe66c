/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/* A text in the trace_marker as a trigger: see struct trigger_row. */
#ifndef LIB_TRIGGER_MARKER_H
#define LIB_TRIGGER_MARKER_H

#include "base/probe.h"
#include "bpf/marker_text.h"
#include "options/config.h"

struct trigger;
struct trigger_config;

int marker_check(struct config *config);
int marker_load(struct trigger *trigger, const struct trigger_config *config,
		const struct log *log);
/* Whether the kernel loads the program. */
int marker_try(struct probe_detail *detail);

/* What the program looks for, as tables. word: 1 to MARKER_WORD_MAX bytes. The tables are zeroed;
 * they have MARKER_CHARACTERS entries, and as many for each of MARKER_STATES: see marker_step(). */
void marker_make(__u8 *classes, __u8 *next, const char *word);

#endif
