/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/*
 * workload/: what arms the timers, and the settings of the machine that a session changes and
 * restores. May include trigger/, options/ and base/.
 */
#ifndef LIB_WORKLOAD_H
#define LIB_WORKLOAD_H

#include "base/probe.h"
#include "options/config.h"

struct trigger;
struct workload;

struct workload_row {
	struct perf_poke_choice choice;
	struct probe probe;
	/* Refuses options that do not suit it; may be NULL. */
	int (*check)(const struct config *config);
	int (*start)(struct workload *workload); /* may be NULL */
};

/* NULL past the end. */
const struct workload_row *workload_row(size_t i);
/* "auto" for AUTO. */
const char *workload_name(enum perf_poke_workload kind);

/* Whether the options suit it; if not, logs why. */
int workload_check(const struct config *config);

/* Makes AUTO the one that is used here. Puts back what killed sessions have left. */
void workload_choose(struct config *config);

/* Starts it. The trigger is the caller's, and outlives this. Of what it set, all is put back by
 * workload_stop(); on failure, at once. */
int workload_start(struct workload **ret, const struct config *config,
		   const struct trigger *trigger);

/* Takes up a CPU again that was offline. */
int workload_cpu_online(struct workload *workload, int cpu);

/* Readable when workload_poll() has something to say; -1: never. */
int workload_fd(const struct workload *workload);
void workload_poll(struct workload *workload);

/* NULL does nothing. */
void workload_stop(struct workload *workload);

#endif
