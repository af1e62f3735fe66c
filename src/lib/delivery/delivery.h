/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */

/*
 * delivery/: how a signal gets from the trigger to a target. A table has a row for each way; the
 * kernel half is in bpf/poke.bpf.h. May include trigger/, options/ and machine/.
 */
#ifndef LIB_DELIVERY_H
#define LIB_DELIVERY_H

#include <stddef.h>
#include <stdint.h>

#include "bpf/trigger.h"
#include "machine/base.h"
#include "options/config.h"

struct delivery_config {
	const struct poke_target *targets;
	const int *tids; /* of the targets, in our PID namespace; 0: not signalled any more */
	size_t nr_targets;
	const int *cpus; /* where the trigger may run; may be offline */
	size_t nr_cpus;
	const char *message; /* the trigger's message without the mask of targets */
};

/* What a way keeps open. */
struct delivery_state;

struct delivery {
	struct perf_poke_choice choice;
	bool automatic; /* a candidate for AUTO */
	struct probe probe;
	/* NULL: the trigger's program is enough. */
	int (*open)(struct delivery_state **ret, const struct delivery_config *config,
		    const struct log *log);
	void (*close)(struct delivery_state *state);
};

/* Rows in AUTO's order; NULL past the end. The last one works everywhere. */
const struct delivery *delivery_row(size_t i);

const struct delivery *delivery_of_way(enum perf_poke_delivery way);

/* Of the row `fasync`. */
int fasync_open(struct delivery_state **ret, const struct delivery_config *config,
		const struct log *log);
void fasync_close(struct delivery_state *state);

/* A task by PID, in target.c: never signals another. */
struct target {
	int tid;   /* as the caller sees it */
	int tgid;  /* its process, as the caller sees it */
	int pidfd; /* of the process */
	char comm[16];
	struct poke_target task;
};

/* Finds a target. Refuses, with a message, one that is not perf or that the signal would kill:
 * -ESRCH, -EINVAL, -EPERM. */
int target_open(struct target *target, const struct perf_poke_target *wanted,
		const struct log *log);

/* Sends the signal. Call trigger_check_targets() right before. -ESRCH: the target has ended. */
int target_signal(const struct target *target);

void target_close(struct target *target);

/* The targets of a session, in pokes.c. The trigger signals them at each spike; the controller
 * sends what the trigger could not. */
struct json_object;
struct poke;
struct trigger;
struct trigger_config;

/* Finds the targets and chooses the ways. */
int poke_open(struct poke **ret, const struct config *config, const struct log *log);

/* Stores targets and ways. */
void poke_configure(const struct poke *poke, struct trigger_config *config);

/* The trigger must outlive this. */
int poke_start(struct poke *poke, struct trigger *trigger);

/* The name of the preferred way. */
const char *poke_delivery(const struct poke *poke);

/* Readable when poke_poll() has something to do. */
int poke_fd(const struct poke *poke);

/* Call after a spike, before re-arming: signals the targets that the trigger could not, or all if
 * it has not `tried`. */
void poke_settle(struct poke *poke, uint64_t sequence, bool tried);

/* Finishes what poke_settle() postponed, and drops ended targets. Returns the number of remaining
 * ones. */
size_t poke_poll(struct poke *poke);

/* Sends all signals still owed, before the disarmed trigger is closed. Waits some milliseconds at
 * most. NULL is ignored. */
void poke_finish(struct poke *poke);

/* Adds the result of each target at a spike. Any thread. */
void poke_describe(const struct poke *poke, uint64_t sequence, struct json_object *json);

/* Reopens what went away with an offline CPU. */
int poke_cpu_online(struct poke *poke);

/* NULL is ignored. */
void poke_free(struct poke *poke);

#endif
