/* SPDX-License-Identifier: GPL-2.0-only */
/* The program that a session starts and pokes: perf record, or another. */
#ifndef CTL_SESSION_CHILD_H
#define CTL_SESSION_CHILD_H

#include <sys/types.h>

#include "cli/cli.h"
#include "session/perf_record.h"

struct child_config {
	struct perf_record record;
	const char *wake;   /* see perf_record_argv() */
	int signal;	    /* of a poke */
	int priority;	    /* SCHED_FIFO; 0: inherited */
	const int *watched; /* CPUs that it may not use */
	size_t nr_watched;
	/* Timeouts. */
	uint64_t ready_ns; /* for its answer */
	uint64_t end_ns;   /* for writing its data at the end */
	uint64_t term_ns;  /* after SIGTERM */
};

/* Sets the timeouts only. */
extern const struct child_config child_defaults;

struct child {
	const struct child_config *config;
	struct console *con;
	char **argv;
	pid_t pid;
	int pidfd;   /* -1: no child */
	int control; /* -1: not perf */
	int ack;
	int gate;
	int stopped_by; /* the signal sent to stop it, or 0 */
	bool ended;
	int status; /* of waitpid(), if ended */
};

/* No child, for child_release(). */
extern const struct child child_none;

/* Creates the process, which waits for child_start(), so that its PID is known. Config and console
 * are not copied. Returns 0, or a negative errno after printing the error. */
int child_prepare(struct child *child, const struct child_config *config,
		  struct console *con) _must_check_;

/* Executes the program and waits until it is ready for pokes, or until `interrupt` (or -1) is
 * readable. Returns 0, -EINTR, or another negative errno after printing the error. */
int child_start(struct child *child, int interrupt) _must_check_;

/* Whether it has exited; reports that, unless it was stopped. */
bool child_has_ended(struct child *child);

/* Stops it and waits for its exit. Each signal on the signalfd `signals` (or -1) skips to the next
 * harsher way. Returns its exit status, or 128 plus the number of the signal that killed it, but 0
 * for the SIGINT sent to stop it. */
int child_stop(struct child *child, int signals);

/* Kills it if necessary, and frees. */
void child_release(struct child *child);

#endif
