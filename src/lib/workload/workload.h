/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/*
 * workload/: arms timers; changes and restores settings of the machine. May include trigger/,
 * options/ and base/.
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
	/* Rejects unsuitable options; may be NULL. */
	int (*check)(const struct config *config);
	int (*start)(struct workload *workload); /* may be NULL */
};

/* NULL past the end. */
const struct workload_row *workload_row(size_t i);
/* "auto" for AUTO. */
const char *workload_name(enum perf_poke_workload kind);

/* Checks the options that depend on the workload; logs errors. */
int workload_check(const struct config *config);

/* Resolves AUTO. Restores settings of killed sessions first. */
void workload_choose(struct config *config);

/* The trigger must outlive this. workload_stop(), or a failure, restores all settings. */
int workload_start(struct workload **ret, const struct config *config,
		   const struct trigger *trigger);

/* A CPU that was offline is back. */
int workload_cpu_online(struct workload *workload, int cpu);

/* Readable when workload_poll() has something to report; -1: never. */
int workload_fd(const struct workload *workload);
void workload_poll(struct workload *workload);

/* NULL is ignored. */
void workload_stop(struct workload *workload);

#endif
