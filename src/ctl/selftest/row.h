/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A row of the selftest: observations of a combination of recorder, freeze and delivery, and the
 * verdicts.
 *
 * selftest/ runs sessions against its own load and judges them. It may include session/, bundle/
 * and capture/.
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
	CHECK_CAPTURED, /* the delayed timer was captured */
	CHECK_CULPRIT,	/* `report` names the cause */
	CHECK_PERF,	/* stock perf decodes and names it too */
	CHECK_HISTORY,	/* the trace fills the ring */
	CHECK_END,	/* the trace reaches the spike */
	CHECK_SKID,	/* the skid is short and the trace does not exceed it */
	CHECK_REARMED,	/* the second capture begins after the first spike */
	CHECK_SIGNAL,	/* one for each capture */
	CHECK_CLEAN,	/* no leftovers */
	CHECK_NR,
};

enum row_result {
	RESULT_UNKNOWN, /* not checked; `why` may say why */
	RESULT_OK,
	RESULT_WRONG,
};

struct row_verdict {
	enum row_result result;
	char why[256];
};

struct row_capture {
	char *path;
	struct perf_poke_capture told; /* without its strings, as the next */
	struct perf_poke_spike spike;  /* told's */
	uint64_t armed_ns;
	/* Of our decoder; times are CLOCK_MONOTONIC, 0 if unknown. */
	char *sentence; /* NULL: decoding failed */
	bool named, no_times;
	uint64_t first_ns, last_ns, errors;
	/* Of perf. */
	bool perf_ran, perf_named;
	uint64_t perf_errors;
	char perf_said[128]; /* the error */
};

struct row {
	enum perf_poke_recorder recorder;
	enum perf_poke_freeze freeze;
	enum perf_poke_delivery delivery;
	const char *names[3]; /* of these; "-" if not applicable */
	uint64_t buffer_size;
	/* Observations. */
	char *failure; /* why the session failed, or NULL */
	struct row_capture captures[ROW_CAPTURES];
	size_t nr;	  /* captures of timers that the selftest delayed */
	size_t nr_taken;  /* all captures, including failed ones */
	size_t nr_failed; /* failed captures */
	unsigned int signals;
	uint64_t merged; /* signals merged into a pending one */
	struct row_verdict verdicts[CHECK_NR];
};

/* Sets the verdicts. */
void row_judge(struct row *row);

/* Whether no check failed. */
bool row_is_fine(const struct row *row);

/* Fails a check; the first reason is kept. */
void row_wrong(struct row *row, enum row_check check, const char *format, ...) _printf_(3, 4);

void row_print_head(FILE *file);
void row_print(FILE *file, const struct row *row);

/* NULL if there is no memory. */
json_object *row_json(const struct row *row);

void row_release(struct row *row);

#endif
