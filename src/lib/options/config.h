/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/*
 * options/: the options of a session. May include base/.
 *
 * They are checked, copied, and completed with defaults. triggers_check(), recorder_choose() and
 * workload_check() check what depends on triggers, recorder and workload.
 */
#ifndef LIB_OPTIONS_CONFIG_H
#define LIB_OPTIONS_CONFIG_H

#include <sys/types.h>

#include "bpf/trigger.h"
#include "machine/base.h"
#include "machine/recorder_config.h"
#include "perf_poke.h"

#define SESSION_NAME_MAX 63
/* The function of timerlat's timers. */
#define TIMERLAT_FUNCTION "timerlat_irq"
/* Noise threshold of the workload osnoise; the default of later kernels. */
#define NOISE_MIN_NS 1000
struct config {
	/* Checked, and completed with defaults; no limit is UINT64_MAX. Owns its strings and
	 * arrays. Use cpus and log below. */
	struct perf_poke_opts opts;
	int *cpus;
	size_t nr_cpus;
	/* Read by triggers_check(); 0: not watched. opts.threshold_ns is the first of them. */
	uint64_t thresholds[TRIGGER_KINDS];
	const char *texts[TRIGGER_KINDS]; /* of the triggers */
	bool has_timers;		  /* one of them watches timers */
	struct scheduling sched;	  /* of workload threads; size 0: the kernel's default */
	struct recorder_config recording; /* refers to this; except work_fd */
	struct log log;
};

/* Logs the reason of a failure; nothing is to be destroyed then. */
int config_init(struct config *config, const struct perf_poke_opts *opts);
/* Whether the tracer timerlat arms the timers. */
bool config_is_timerlat(const struct config *config);
/* Whether the tracer timerlat or osnoise runs. */
bool config_is_tracer(const struct config *config);
/* 1 to SESSION_NAME_MAX of A-Z a-z 0-9 . _ - other than "." and "..". */
bool session_name_valid(const char *name);

void config_destroy(struct config *config);

/* The callback to watch: that of the options, or the workload's default; NULL: any. */
const char *function_name(const struct config *config);

/* Its address; 0: any. Logs why it cannot be found. */
int function_find(const struct config *config, uint64_t *address);

#endif
