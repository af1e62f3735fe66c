/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A row of the self-test: what was seen of a recorder, a way to freeze it and a delivery, and what
 * is to be said of that.
 *
 * selftest/ runs sessions against a load of its own and judges them. It may include session/,
 * bundle/ and capture/.
 */
#ifndef CTL_SELFTEST_ROW_H
#define CTL_SELFTEST_ROW_H

#include <json-c/json.h>
#include <perf_poke.h>
#include <stdio.h>

#include "util.h"

#define ROW_CAPTURES 2

/* Columns of the table. */
enum row_check {
	CHECK_CAPTURED, /* the timer that was made late, and no other */
	CHECK_CULPRIT,	/* `report` names what made it late */
	CHECK_PERF,	/* stock perf decodes it, and names that too */
	CHECK_HISTORY,	/* it reaches back as far as its ring is large */
	CHECK_END,	/* and up to the spike */
	CHECK_SKID,	/* not further than was told, nor far */
	CHECK_REARMED,	/* the second capture is of its own time */
	CHECK_SIGNAL,	/* one for each capture */
	CHECK_CLEAN,	/* nothing is left behind */
	CHECK_NR,
};

enum row_result {
	RESULT_UNKNOWN, /* nothing to look at; `why` may say why */
	RESULT_OK,
	RESULT_WRONG,
};

struct row_verdict {
	enum row_result result;
	char why[256];
};

struct row_capture {
	char *path;
	struct perf_poke_capture told; /* its strings are gone */
	uint64_t armed_ns;	       /* since when it recorded */
	/* By our decoder; times are CLOCK_MONOTONIC, 0 is not known */
	char *sentence; /* NULL: it could not be decoded */
	bool named, no_times;
	uint64_t first_ns, last_ns, errors;
	/* By perf */
	bool perf_ran, perf_named;
	uint64_t perf_errors;
	char perf_said[128]; /* why it failed */
};

struct row {
	enum perf_poke_recorder recorder;
	enum perf_poke_freeze freeze;
	enum perf_poke_delivery delivery;
	const char *names[3]; /* of these, "-" for what does not apply */
	uint64_t buffer_size;
	/* What was seen: */
	char *failure; /* why there was no session; NULL: there was */
	struct row_capture captures[ROW_CAPTURES];
	size_t nr;	  /* of timers that the self-test made late */
	size_t nr_taken;  /* all, failed ones too */
	size_t nr_failed; /* of those */
	unsigned int signals;
	uint64_t merged; /* spikes that have one with another */
	/* What is to be said of it: */
	struct row_verdict verdicts[CHECK_NR];
};

/* Fills in the verdicts. */
void row_judge(struct row *row);

/* No check was wrong, and those that tell were done. */
bool row_is_fine(const struct row *row);

/* For what is not in the row. Of what is wrong with a check, the first is kept. */
void row_wrong(struct row *row, enum row_check check, const char *format, ...) _printf_(3, 4);

void row_print_head(FILE *file);
void row_print(FILE *file, const struct row *row);

/* NULL if there is no memory. */
json_object *row_json(const struct row *row);

void row_release(struct row *row);

#endif
