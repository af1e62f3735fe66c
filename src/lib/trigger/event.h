/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/* A tracepoint as a trigger: see struct trigger_row. */
#ifndef LIB_TRIGGER_EVENT_H
#define LIB_TRIGGER_EVENT_H

#include "options/config.h"

struct trigger;
struct trigger_config;

/* Reduces the text to SYS:NAME. */
int event_check(struct config *config);
int event_load(struct trigger *trigger, const struct trigger_config *config, const struct log *log);
/* -ENOENT: no such tracepoint. */
int event_attach(struct trigger *trigger, const struct trigger_config *config,
		 const struct log *log);

#endif
