/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/* A log function that keeps the last message. */
#ifndef TEST_LIB_MESSAGES_H
#define TEST_LIB_MESSAGES_H

#include <stdio.h>

#include "perf_poke.h"

struct messages {
	unsigned int nr;
	enum perf_poke_log_level level;
	char text[6000];
};

static inline void messages_add(void *ctx, enum perf_poke_log_level level, const char *msg)
{
	struct messages *messages = ctx;

	messages->nr++;
	messages->level = level;
	snprintf(messages->text, sizeof(messages->text), "%s", msg);
}

#endif
