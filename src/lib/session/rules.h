/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/* Rules by which a session makes its trigger more choosy as it goes. */
#ifndef LIB_SESSION_RULES_H
#define LIB_SESSION_RULES_H

#include "session/session.h"

/* Before it is armed. */
int rules_start(struct perf_poke *pp);

/* When the warm-up is over: thresholds are what was measured. */
void rules_poll(struct perf_poke *pp);

/* After a spike was taken: none is for a time. */
void rules_cool(struct perf_poke *pp, uint64_t spike_ns);

/* Drops what is too much. After the capture was reported: it may be this one. */
void rules_keep(struct perf_poke *pp, const struct capture *done);

void rules_stop(struct perf_poke *pp);

#endif
