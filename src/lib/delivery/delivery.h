/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/*
 * delivery/: the ways that a signal takes from the trigger to a target, a file each. The kernel
 * half is in bpf/poke/. May include trigger/, options/ and base/.
 */
#ifndef LIB_DELIVERY_H
#define LIB_DELIVERY_H

#include <stddef.h>
#include <stdint.h>

#include "base/log.h"
#include "bpf/poke.h"

struct delivery_config {
	const struct poke_target *targets;
	const int *tids; /* of the targets, in our own pid namespace; 0: it needs no way any more */
	size_t nr_targets;
	const int *cpus; /* where the trigger may run; some may be offline */
	size_t nr_cpus;
	const char *message; /* before the targets that it is for: what the trigger prints */
};

/* What a way keeps open; each has its own. */
struct delivery_state;

struct delivery {
	struct perf_poke_choice choice;
	bool automatic; /* whether AUTO may take it: `direct` and `tracepoint` are for who asks */
	enum poke_way way;
	/* Whether it works on this system: 0 or a negative errno. */
	int (*try)(void);
	/* Both NULL: the trigger's program is all it takes. */
	int (*open)(struct delivery_state **ret, const struct delivery_config *config,
		    const struct log *log);
	void (*close)(struct delivery_state *state);
};

extern const struct delivery delivery_task_work, delivery_fasync, delivery_tracepoint,
	delivery_direct, delivery_relay;

/* In the order in which AUTO tries them; NULL past the end. The last works everywhere. */
const struct delivery *delivery_row(size_t i);

const struct delivery *delivery_of(enum poke_way way);

#endif
