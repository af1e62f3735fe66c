/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/* What a session tells of its captures: its caller, and those who look at it. */
#ifndef LIB_SESSION_REPORTS_H
#define LIB_SESSION_REPORTS_H

#include "session/state.h"

/* The numbers that others see. */
void reports_count(struct perf_poke *pp);

/* Tells of all captures that the writer is done with; returns how many they were. */
int reports_take(struct perf_poke *pp);

/* Nothing is written any more. */
void reports_finish(struct perf_poke *pp);

#endif
