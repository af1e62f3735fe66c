/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/*
 * session/: one armed run, from start to stop; the only role that includes all others. perf_poke.c
 * has the sequence, chosen.c its results, finished.c what follows a capture, pins.c what other
 * processes see, other_sessions.c their side of it. This is the state that they share.
 */
#ifndef LIB_SESSION_H
#define LIB_SESSION_H

#include "capture/capture.h"
#include "delivery/delivery.h"
#include "options/config.h"
#include "recorder/recorder.h"
#include "session/pins.h"
#include "trigger/trigger.h"
#include "workload/workload.h"

/* Captures that could not be written. */
struct losses {
	uint64_t unreported;  /* since the last message */
	uint64_t reported_ns; /* time of the last message; 0: none */
	int error;	      /* of the last loss */
};

/* Gate of the functions that any thread may call. */
struct any_thread {
	bool open;	     /* the trigger exists */
	unsigned int inside; /* calls in progress */
};

void any_thread_admit(struct any_thread *gate);
/* Waits until all callers have left. */
void any_thread_close(struct any_thread *gate);
/* Tells the trigger, at the start, what the caller's threads last asked for: they may ask
 * meanwhile. */
void session_apply_disarmed(struct perf_poke *pp);

struct perf_poke {
	struct config config;
	bool started;
	pid_t pid; /* of the process that started it: not of one that it has forked */
	bool busy; /* in perf_poke__start(), __poll() or __stop(), which callbacks must not call */
	int epoll_fd;		 /* -1 unless started */
	int hotplug_fd;		 /* -1: none */
	struct trigger *trigger; /* kept after stop, for its statistics */
	const struct recorder_ops *recorder_ops;
	struct recorder *recorder;
	char message[32]; /* the recorder's pause message, or one for `stop` */
	struct stop_tracing *stop;
	struct hardware *hardware;
	struct poke *poke; /* NULL: no targets */
	struct workload *workload;
	struct writer *writer;
	struct keep *keep;		   /* --keep-worst and --max-disk */
	uint64_t floors_ns[TRIGGER_KINDS]; /* only latencies above it are kept; 0: all */
	struct pins *pins;		   /* NULL: not listed */
	struct capture_symbols symbols;
	struct output output;
	struct capture_env env;
	uint64_t complete; /* captures reported without error */
	uint64_t poked;	   /* of those complete or pending: by a poke */
	uint64_t failed;   /* lost captures and snapshots */
	uint64_t pending;  /* given to the writer and not reported yet */
	struct losses losses;
	int stuck;   /* -ETIMEDOUT: the writer was given up */
	bool moved;  /* captures are no longer at their reported paths */
	bool paused; /* disarmed until a pending capture is reported */
	struct any_thread gate;
	bool disarmed; /* by the caller */
	struct reporter reporter;
};

/* That the values of enums have a row. Logs failures. */
int choices_check(const struct config *config);

/* The tracing instances of others that are stopped at a spike, by its message. NULL: none. Logs
 * errors. */
int stop_tracing_open(struct stop_tracing **ret, const struct config *config, const char *message);
/* Removes the triggers. NULL is ignored. */
void stop_tracing_close(struct stop_tracing *stop);
/* In a child of fork(): frees, and removes nothing. NULL is ignored. */
void stop_tracing_abandon(struct stop_tracing *stop);

/* Updates the counts that others see. */
void session_publish_counts(struct perf_poke *pp);
/* Reports all captures that the writer has finished, and removes those over the limits. Returns
 * their number. */
int session_report_finished(struct perf_poke *pp);
/* Call once the output folder is closed. */
void session_report_end(struct perf_poke *pp);

/* Statistics of the spike's CPU and kind, with the spike; of all watched CPUs after a poke. */
void statistics_snapshot(const struct perf_poke *pp, const struct perf_poke_spike *spike,
			 struct stats_snapshot *snapshot);

#endif
