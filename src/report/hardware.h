/* SPDX-License-Identifier: GPL-2.0-only */
/* What the hardware, or a hypervisor, did up to a spike. */
#ifndef REPORT_HARDWARE_H
#define REPORT_HARDWARE_H

#include <json-c/json.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#define IDLE_STATES_MAX 16

/* As capture.json has it: counts of the spike's CPU since the session was armed before it. */
struct hardware_facts {
	uint64_t since_ns;			  /* 0: nothing was counted */
	uint64_t smis, steal_ns, nmis, throttles; /* UINT64_MAX: not known */
	struct idle_state {
		char name[24];
		uint64_t exit_ns; /* how long the CPU takes to leave it, at most */
	} states[IDLE_STATES_MAX];
	size_t nr_states;
};

/* By tracepoints of the CPU. All zero is none. */
struct power {
	uint64_t state; /* the idle state that was entered last */
	uint64_t left;	/* and when it was left; 0: not yet */
	uint64_t frequency_khz;
};

/* What may have held the timer up, each after a `; `. */
void hardware_put(FILE *file, const struct hardware_facts *facts, const struct power *power,
		  uint64_t expected_ns, uint64_t latency_ns);

/* All that was counted, as `3 NMIs, steal 190us in the 2s before`; nothing if nothing was. */
void hardware_put_counts(FILE *file, const struct hardware_facts *facts, const char *before);

/* NULL if there is no memory. */
json_object *hardware_json(const struct hardware_facts *facts, const struct power *power);

#endif
