/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/* Spans as triggers: see struct trigger_row. The programs are in bpf/span.h. */
#ifndef LIB_TRIGGER_SPAN_ATTACH_H
#define LIB_TRIGGER_SPAN_ATTACH_H

#include "base/base.h"
#include "options/config.h"

struct trigger;
struct trigger_config;

int span_check(struct config *config);
/* -ENOENT: a name in the text does not exist. */
int span_load(struct trigger *trigger, const struct trigger_config *config, const struct log *log);
int span_attach(struct trigger *trigger, const struct trigger_config *config,
		const struct log *log);
/* Reports the kinds of entries and exits that this kernel supports. */
int span_try(struct probe_detail *detail);

#endif
