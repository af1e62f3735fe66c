/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/* The options of a session by name, one row each, for perf_poke__opts_set() and the command line. A
 * new option is a member of struct perf_poke_opts and a row here. */
#ifndef LIB_OPTIONS_TABLE_H
#define LIB_OPTIONS_TABLE_H

#include "machine/base.h"
#include "option_value.h"
#include "perf_poke.h"

struct option_row {
	struct perf_poke_option option;
	enum option_kind kind;
	size_t offset, size; /* of the member; OPTION_PARSED: of the last one set */
	uint64_t min, max;   /* of times, sizes and counts */
	/* Returns 0, or a negative errno with *why. */
	int (*parse)(struct perf_poke_opts *opts, const char *value, char **why);
};

/* NULL past the last one. */
const struct option_row *option_row(size_t i);

/* In parse.c: */
int parse_dma_latency(struct perf_poke_opts *opts, const char *value, char **why);
int parse_events(struct perf_poke_opts *opts, const char *value, char **why);
int parse_filter(struct perf_poke_opts *opts, const char *value, char **why);
int parse_idle_state(struct perf_poke_opts *opts, const char *value, char **why);
int parse_signal(struct perf_poke_opts *opts, const char *value, char **why);
int parse_span(struct perf_poke_opts *opts, const char *value, char **why);
int parse_target(struct perf_poke_opts *opts, const char *value, char **why);
int parse_trigger(struct perf_poke_opts *opts, const char *value, char **why);

/* A span and its trigger require each other. The options are those of the caller. */
int option_check_span(const struct perf_poke_opts *opts, const struct log *log);

/* Memory owned by the options, freed by perf_poke__opts_release(). */
struct owned_opts {
	char **strings;
	size_t nr_strings;
	struct perf_poke_event *events;
	struct perf_poke_trigger *triggers;
	struct perf_poke_target *targets;
	const char *span;   /* NAME=ENTRY..EXIT */
	size_t last_events; /* index of the first event of the last list */
};

/* Copies `length` bytes; the options own the copy. NULL: no memory. */
char *owned_copy(struct perf_poke_opts *opts, const char *text, size_t length);
/* The same of zero bytes. */
void *owned_memory(struct perf_poke_opts *opts, size_t size);

#endif
