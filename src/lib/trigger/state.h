/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/* Internals of the trigger: created by load.c, used by trigger.c. */
#ifndef LIB_TRIGGER_STATE_H
#define LIB_TRIGGER_STATE_H

#include <stdbool.h>
#include <stddef.h>

#include "bpf/poke.h"
#include "bpf/trigger.h"

/* After the types that it needs. */
#include "bpf/trigger.skel.h"

struct trigger {
	struct trigger_bpf *skel;
	struct bpf_program *hrtimer; /* the attached one of these */
	struct ring_buffer *ring;
	struct trigger_cpu *cpus;      /* mapping of the map `cpus`, indexed by CPU */
	struct trigger_cpu *more;      /* of cpus_more */
	struct trigger_recent *recent; /* indexed by CPU */
	struct trigger_stacks *stacks; /* by sequence */
	int nr_possible;
	struct filter *filters[FILTERS];	 /* NULL: none */
	struct trigger_noise_parts *noise_parts; /* by sequence */
	bool noise;
	bool rtla;		     /* the programs are loaded */
	struct poke_target *targets; /* mapping of the map `targets` */
	size_t cpus_size, more_size, recent_size, stacks_size, targets_size, session_size,
		noise_parts_size;
	struct trigger_session *session; /* mapping of the map `session` */
	uint64_t missed;		 /* final value, once detached */
	struct trigger_spike spike;	 /* at most one each time it is armed */
	bool have_spike;
	bool stop_asked;
};

/* Runs a program on this CPU. Returns its result, or a negative errno. */
int trigger_run(const struct bpf_program *prog);

#endif
