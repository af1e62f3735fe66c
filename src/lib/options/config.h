/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/*
 * options/: the options of a session. May include machine/.
 *
 * perf_poke__opts_set() sets them by name, with the table of option_table.c. config_init() makes a
 * struct config of them: they are checked, copied, and completed with defaults. triggers_check(),
 * recorder_choose() and workload_check() check what depends on triggers, recorder and workload.
 */
#ifndef LIB_OPTIONS_CONFIG_H
#define LIB_OPTIONS_CONFIG_H

#include <sys/types.h>

#include "bpf/trigger.h"
#include "machine/base.h"
#include "perf_poke.h"
#include "units.h"

#define SESSION_NAME_MAX 63
/* The function of timerlat's timers. */
#define TIMERLAT_FUNCTION "timerlat_irq"
/* Noise threshold of the workload osnoise; the default of later kernels. */
#define NOISE_MIN_NS 1000
struct config {
	/* Checked, and completed with defaults; no limit is UINT64_MAX. Owns its strings and
	 * arrays. Use cpus and log below. */
	struct perf_poke_opts opts;
	enum perf_poke_workload workload; /* of opts; once the session has started, not auto */
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
static inline bool config_is_timerlat(const struct config *config)
{
	return config->workload == PERF_POKE_WORKLOAD_TIMERLAT ||
	       config->workload == PERF_POKE_WORKLOAD_USER;
}

/* Whether the tracer timerlat or osnoise runs. */
static inline bool config_is_tracer(const struct config *config)
{
	return config_is_timerlat(config) || config->workload == PERF_POKE_WORKLOAD_OSNOISE;
}

/* 1 to SESSION_NAME_MAX of A-Z a-z 0-9 . _ - other than "." and "..". */
bool session_name_valid(const char *name);

void config_destroy(struct config *config);

/* The callback to watch: that of the options, or the workload's default; NULL: any. */
const char *function_name(const struct config *config);

/* Its address; 0: any. Logs why it cannot be found. */
int config_find_function(const struct config *config, uint64_t *address);

/* The options by name, one row each, for perf_poke__opts_set() and the command line. A new option
 * is a member of struct perf_poke_opts and a row in option_table.c. */
struct option_row {
	struct perf_poke_option option;
	enum option_kind kind;
	size_t offset, size; /* of the member; OPTION_PARSED: of the last one set */
	uint64_t min, max;   /* of times, sizes and counts */
	/* Returns 0, or a negative errno with *why. */
	int (*parse)(struct perf_poke_opts *opts, const char *value, char **why);
};

/* NULL past the last one. */
const struct option_row *option_table_row(size_t i);

/* In option_parse.c: */
int option_parse_cpus(struct perf_poke_opts *opts, const char *value, char **why);
int option_parse_dma_latency(struct perf_poke_opts *opts, const char *value, char **why);
int option_parse_events(struct perf_poke_opts *opts, const char *value, char **why);
int option_parse_filter(struct perf_poke_opts *opts, const char *value, char **why);
int option_parse_idle_state(struct perf_poke_opts *opts, const char *value, char **why);
int option_parse_signal(struct perf_poke_opts *opts, const char *value, char **why);
int option_parse_span(struct perf_poke_opts *opts, const char *value, char **why);
int option_parse_stop_tracing(struct perf_poke_opts *opts, const char *value, char **why);
int option_parse_target(struct perf_poke_opts *opts, const char *value, char **why);
int option_parse_trigger(struct perf_poke_opts *opts, const char *value, char **why);

/* A span and its trigger require each other. The options are those of the caller. */
int options_check_span(const struct perf_poke_opts *opts, const struct log *log);

/* Memory owned by the options, freed by perf_poke__opts_release(). */
struct owned_opts {
	char **strings;
	size_t nr_strings;
	struct perf_poke_event *events;
	struct perf_poke_trigger *triggers;
	struct perf_poke_target *targets;
	const char **stop_tracing;
	const char *span;   /* NAME=ENTRY..EXIT */
	size_t last_events; /* index of the first event of the last list */
};

/* Copies `length` bytes; the options own the copy. NULL: no memory. */
char *opts_own_text(struct perf_poke_opts *opts, const char *text, size_t length);
/* The same of zero bytes. */
void *opts_own_memory(struct perf_poke_opts *opts, size_t size);

#endif
