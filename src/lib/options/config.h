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

#include "base/base.h"
#include "base/recorder_config.h"
#include "bpf/trigger.h"
#include "perf_poke.h"

#define SESSION_NAME_MAX 63
/* The function of timerlat's timers. */
#define TIMERLAT_FUNCTION "timerlat_irq"
/* Noise threshold of the workload osnoise; the default of later kernels. */
#define NOISE_MIN_NS 1000
struct config {
	int *cpus;
	size_t nr_cpus;
	uint64_t threshold_ns;
	/* Read by triggers_check(); 0: not watched. threshold_ns is the first of them. */
	struct perf_poke_trigger *triggers;
	size_t nr_triggers;
	uint64_t thresholds[TRIGGER_KINDS];
	const char *texts[TRIGGER_KINDS]; /* of `triggers` */
	bool has_timers;		  /* one of them watches timers */
	char *task;
	char *function; /* NULL: the workload's default */
	enum perf_poke_workload workload;
	uint64_t period_ns;
	int priority;
	struct scheduling sched; /* of workload threads; size 0: the kernel's default */
	char *cgroup;		 /* NULL: unchanged */
	bool hold_dma_latency, limit_idle_state;
	uint32_t dma_latency_us, deepest_idle_state;
	enum perf_poke_recorder recorder;
	struct recorder_config recording; /* except work_fd */
	struct perf_poke_target *targets;
	size_t nr_targets;
	enum perf_poke_delivery delivery;
	uint64_t max_captures;	       /* UINT64_MAX: no limit */
	uint64_t keep_worst, max_disk; /* UINT64_MAX: no limit */
	uint64_t cooldown_ns;
	char *output;
	uid_t output_owner;
	char *session; /* NULL: not listed */
	char **argv;
	size_t argc;
	struct log log;
	perf_poke_capture_fn on_capture;
	perf_poke_path_fn on_removed;
	void *capture_ctx;
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
