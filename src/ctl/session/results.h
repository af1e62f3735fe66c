/* SPDX-License-Identifier: GPL-2.0-only */
/* What a session came to, apart from the session: plain data for report and JSON. */
#ifndef CTL_SESSION_RESULTS_H
#define CTL_SESSION_RESULTS_H

#include <perf_poke.h>

#include "session/perf_files.h"

/* The row of all CPUs together, as in perf_poke__stats(). */
#define ALL_CPUS (-1)

struct result_row {
	int cpu;
	struct perf_poke_stats stats;
	uint64_t p50_ns;
	uint64_t p99_ns;
	uint64_t p999_ns;
	struct perf_poke_bucket *buckets;
	size_t nr_buckets;
	uint64_t *linear; /* results.linear_entries, and what is over them; NULL: not asked for */
};

/* The perf record, or other command, of the session. */
struct result_perf {
	int pid;	/* 0: there was none */
	char **command; /* as it was run, up to a NULL; not a copy */
	int status;	/* as a shell has it */
	struct perf_files data;
};

/* Of the kinds of latency besides that of the interrupt. */
struct result_kind {
	struct result_row *rows; /* one for each CPU; NULL: not watched */
	struct result_row all;
};

struct results {
	uint64_t linear_entries; /* 0: there is no linear histogram */
	uint64_t linear_width_ns;
	struct result_row *rows; /* one for each CPU */
	size_t nr_rows;
	struct result_row all;
	struct result_kind kinds[PERF_POKE_TRIGGER_WAKEUP + 1]; /* the first is empty */
	struct perf_poke_capture *captures; /* complete ones that remain; strings are copies */
	size_t *numbers;		    /* of these, from 1; NULL: they are in order */
	size_t nr_captures;
	size_t nr_removed; /* --keep-worst, --max-disk */
	bool keeps;	   /* these were asked for */
	size_t nr_failed;
	uint64_t elapsed_ns;
	struct result_perf perf;
};

/* Returns 0 or -ENOMEM. */
int results_add_capture(struct results *results, const struct perf_poke_capture *capture);

/* It does not stay. */
void results_remove_capture(struct results *results, const char *path);

/* Those that were taken. */
size_t results_taken(const struct results *results);

/* Which of them one is that remains. */
size_t results_number(const struct results *results, size_t i);

/* The rows of a kind; NULL: it is not watched. */
const struct result_row *results_rows(const struct results *results,
				      enum perf_poke_trigger_kind kind);

/* Fetch the statistics of a session. Returns 0 or a negative errno. */
int results_collect(struct results *results, const struct perf_poke *pp);

/* Frees what is in it. */
void results_release(struct results *results);

/* The name of a kind of latency. */
const char *kind_name(enum perf_poke_trigger_kind kind);

#endif
