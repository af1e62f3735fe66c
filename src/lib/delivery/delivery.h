/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/*
 * delivery/: how a signal gets from the trigger to a target. A table has a row for each way; the
 * kernel half is in bpf/poke/. May include trigger/, options/ and base/.
 */
#ifndef LIB_DELIVERY_H
#define LIB_DELIVERY_H

#include <stddef.h>
#include <stdint.h>

#include "base/probe.h"
#include "bpf/poke.h"

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

const struct delivery *delivery_of(enum perf_poke_delivery way);

/* For the row `fasync`. */
int fasync_try(struct probe_detail *detail);
int fasync_open(struct delivery_state **ret, const struct delivery_config *config,
		const struct log *log);
void fasync_close(struct delivery_state *state);

#endif
