/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/*
 * delivery/: how a signal gets from the trigger to a target. A table has a row for each way; the
 * kernel's half is in bpf/poke/. May include trigger/, options/ and base/.
 */
#ifndef LIB_DELIVERY_H
#define LIB_DELIVERY_H

#include <stddef.h>
#include <stdint.h>

#include "base/probe.h"
#include "bpf/poke.h"

struct delivery_config {
	const struct poke_target *targets;
	const int *tids; /* of the targets, in our PID namespace; 0: no longer signalled */
	size_t nr_targets;
	const int *cpus; /* where the trigger may run; some may be offline */
	size_t nr_cpus;
	const char *message; /* what the trigger prints, without the targets it is for */
};

/* What a way keeps open; each has its own. */
struct delivery_state;

struct delivery {
	struct perf_poke_choice choice;
	bool automatic; /* AUTO may take it */
	enum poke_way way;
	struct probe probe;
	/* NULL: the trigger's program is all it takes. */
	int (*open)(struct delivery_state **ret, const struct delivery_config *config,
		    const struct log *log);
	void (*close)(struct delivery_state *state);
};

/* The rows in AUTO's order; NULL past the end. The last works everywhere. */
const struct delivery *delivery_row(size_t i);

const struct delivery *delivery_of(enum poke_way way);

/* Of the row `fasync`. */
int fasync_try(struct probe_detail *detail);
int fasync_open(struct delivery_state **ret, const struct delivery_config *config,
		const struct log *log);
void fasync_close(struct delivery_state *state);

#endif
