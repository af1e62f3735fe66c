/* SPDX-License-Identifier: GPL-2.0-only */
/* The program that a session pokes and has started itself: a perf record, or another. */
#ifndef CTL_SESSION_CHILD_H
#define CTL_SESSION_CHILD_H

#include <sys/types.h>

#include "cli/console.h"
#include "session/perf_record.h"

struct child_config {
	struct perf_record record;
	const char *wake;   /* see perf_record_argv() */
	int signal;	    /* that it is poked with */
	int priority;	    /* SCHED_FIFO; 0: as it comes */
	const int *watched; /* CPUs that it is kept off */
	size_t nr_watched;
	uint64_t ready_ns; /* for its answer */
	uint64_t end_ns;   /* to write its data, once it was told to end */
	uint64_t term_ns;  /* after SIGTERM */
};

/* How long to wait, and the rest zero. */
extern const struct child_config child_defaults;

struct child {
	const struct child_config *config;
	struct console *con;
	char **argv;
	pid_t pid;
	int pidfd;   /* readable when it has ended; -1: there is no child */
	int control; /* to perf; -1: it is none */
	int ack;
	int gate;
	int stopped_by; /* the signal that asked it to end, or 0 */
	bool ended;
	int status; /* of waitpid(), when it has ended */
};

/* Nothing there, for child_release(). */
extern const struct child child_none;

/*
 * Makes the process, which waits: its pid is that of the program later on. Config and console must
 * live as long. Returns 0, or a negative errno and the error has been printed.
 */
int child_prepare(struct child *child, const struct child_config *config,
		  struct console *con) _must_check_;

/*
 * Lets the program run and waits until a poke does what it should. Gives up when `interrupt` (or
 * -1) becomes readable. Returns 0, -EINTR when interrupted, or another negative errno and the error
 * has been printed.
 */
int child_start(struct child *child, int interrupt) _must_check_;

/* Whether it has ended; if so, says how, unless it was told to. */
bool child_has_ended(struct child *child);

/*
 * Has it end and waits for that. Each signal of the signalfd `signals` (or -1) that comes meanwhile
 * makes it more urgent. Returns its exit status as a shell has it: 128 more than the signal that
 * ended it; 0 for the one it was told to end by.
 */
int child_stop(struct child *child, int signals);

/* Ends it whatever it does, and frees. */
void child_release(struct child *child);

#endif
