/* SPDX-License-Identifier: GPL-2.0-only */
/* The results of a session: plain data for report and JSON. */
#ifndef CTL_SESSION_RESULTS_H
#define CTL_SESSION_RESULTS_H

#include <perf_poke.h>

#include "session/perf_files.h"

/* CPU number of the row of all CPUs together. */
#define ALL_CPUS (-1)

struct result_row {
	int cpu;
	struct perf_poke_stats stats;
	uint64_t p50_ns;
	uint64_t p99_ns;
	uint64_t p999_ns;
	struct perf_poke_bucket *buckets;
	size_t nr_buckets;
};

/* The command of the session, such as perf record. */
struct result_perf {
	int pid;	/* 0: none */
	char **command; /* NULL-terminated; not a copy */
	int status;	/* exit status, or 128 plus the signal */
	struct perf_files data;
};

/* More than the library has kinds of triggers. */
#define KINDS_MAX 16

struct result_kind {
	struct result_row *rows; /* one for each CPU; NULL: not watched */
	struct result_row all;
};

struct results {
	struct result_kind kinds[KINDS_MAX]; /* irq is always watched */
	size_t nr_rows;
	struct perf_poke_capture *captures; /* complete and not removed; strings are copies */
	size_t *numbers;		    /* of the captures, from 1; NULL: consecutive */
	size_t nr_captures;
	size_t nr_removed; /* by --keep-worst or --max-disk */
	bool keeps;	   /* one of these was given */
	size_t nr_failed;
	const char *known;		      /* file of known causes, or NULL */
	size_t nr_known, nr_new, nr_unjudged; /* captures by their causes */
	uint64_t elapsed_ns;
	struct result_perf perf;
};

/* Returns 0 or -ENOMEM. */
int results_add_capture(struct results *results, const struct perf_poke_capture *capture);

void results_remove_capture(struct results *results, const char *path);

/* The number of complete captures, including removed ones. */
size_t results_taken(const struct results *results);

/* The number of the i-th remaining capture. */
size_t results_number(const struct results *results, size_t i);

/* Reads the statistics of a session. Returns 0 or a negative errno. */
int results_collect(struct results *results, const struct perf_poke *pp);

void results_release(struct results *results);

const char *kind_name(enum perf_poke_trigger_kind kind);
/* Whether it has a threshold that makes spikes. */
bool kind_has_threshold(enum perf_poke_trigger_kind kind);

#endif
