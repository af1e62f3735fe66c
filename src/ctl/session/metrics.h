/* SPDX-License-Identifier: GPL-2.0-only */
/* Metrics of a session in the text format of Prometheus, for the textfile collector of
 * node_exporter; see docs/fleet.md. */
#ifndef CTL_SESSION_METRICS_H
#define CTL_SESSION_METRICS_H

#include "cli/cli.h"
#include "session/results.h"

struct metrics {
	const char *path;      /* NULL: none */
	uint64_t due;	       /* next time to write, CLOCK_MONOTONIC */
	uint64_t lost;	       /* events, in all captures */
	struct outlet *outlet; /* writes the file; NULL: this thread does */
	_Atomic int result;    /* of the last write */
	bool failed;	       /* the last one that was looked at failed, which was reported */
	struct metrics_cause {
		char *fingerprint;
		uint64_t count;
	} * causes;
	size_t nr;
};

struct metrics_state {
	const char *session;
	const struct results *captures;	  /* captures so far */
	const struct results *statistics; /* current statistics */
	uint64_t commands_failed;
	bool armed;
};

/* Returns 0 or -ENOMEM. */
int metrics_count(struct metrics *metrics, const char *fingerprint) _must_check_;

void metrics_print(FILE *file, const struct metrics *metrics, const struct metrics_state *state);

/* Replaces the file atomically. Warns about the first failure only. */
void metrics_write(struct metrics *metrics, struct console *con, const struct metrics_state *state);

/* From here to metrics_end() no file system is waited for. Returns 0 or a negative errno. */
int metrics_begin(struct metrics *metrics) _must_check_;

/* Waits for the last write, unless `interrupt` is readable or it takes long. */
void metrics_end(struct metrics *metrics, struct console *con, int interrupt);

void metrics_release(struct metrics *metrics);

#endif
