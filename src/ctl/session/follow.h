/* SPDX-License-Identifier: GPL-2.0-only */
/* Handles captures: finds the cause, then updates journal and metrics and runs a command. */
#ifndef CTL_SESSION_FOLLOW_H
#define CTL_SESSION_FOLLOW_H

#include <poll.h>

#include "cli/cli.h"
#include "session/metrics.h"
#include "session/on_capture.h"
#include "session/results.h"
#include "session/sieve.h"

#define FOLLOW_FDS (1 + ON_CAPTURE_AT_ONCE)

struct follow_opts {
	struct sieve_opts sieve; /* --known */
	const char *command;	 /* --on-capture, or NULL */
	const char *metrics;	 /* file, or NULL */
};

struct follow {
	struct console *con;
	struct results *results;
	const struct perf_poke *pp; /* set when armed */
	const char *session;
	bool journal; /* write an entry for each capture with a cause */
	bool failed;
	struct sieve sieve;
	struct on_capture on_capture;
	struct metrics metrics;
};

void follow_init(struct follow *follow, struct console *con, struct results *results,
		 const struct follow_opts *opts);

/* Call when the session is armed. Returns 0 or a negative errno. */
int follow_begin(struct follow *follow, const struct perf_poke *pp, bool journal) _must_check_;

/* Adds a complete capture, which `results` has too. */
void follow_add(struct follow *follow, const struct perf_poke_capture *capture);

/* Descriptors to wait for (-1: none), and for how long (CLOCK_MONOTONIC; UINT64_MAX: no limit). */
void follow_fds(const struct follow *follow, struct pollfd fds[FOLLOW_FDS]);
uint64_t follow_due(const struct follow *follow);

/* Does pending work, without waiting. */
void follow_handle(struct follow *follow);

/* Waits for the rest. A new signal drops it: captures without a verdict stay, commands are
 * killed. */
void follow_finish(struct follow *follow, int signals);

void follow_release(struct follow *follow);

#endif
