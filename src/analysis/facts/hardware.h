/* SPDX-License-Identifier: GPL-2.0-only */
/* Hardware and hypervisor activity before a spike. */
#ifndef REPORT_HARDWARE_H
#define REPORT_HARDWARE_H

#include <json-c/json.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#define IDLE_STATES_MAX 16

/* From capture.json: counts of the spike's CPU since the session was last armed. */
struct hardware_facts {
	uint64_t since_ns;			  /* 0: not counted */
	uint64_t smis, steal_ns, nmis, throttles; /* UINT64_MAX: unknown */
	/* Part of steal_ns since the scheduler's last update before the spike: at a wakeup, a
	 * switch or a tick. */
	uint64_t late_steal_ns;
	uint64_t hypervisor; /* 1: a virtual machine; 0: none; UINT64_MAX: unknown */
	bool is_x86;
	struct idle_state {
		char name[24];
		uint64_t exit_ns; /* its maximum exit latency */
	} states[IDLE_STATES_MAX];
	size_t nr_states;
};

/* From tracepoints of the CPU. Zero-initialised means none. */
struct power {
	uint64_t state;	  /* last idle state entered */
	uint64_t entered; /* when */
	uint64_t left;	  /* time of leaving it; 0: not left yet */
	uint64_t frequency_khz;
};

/* Writes possible hardware causes of the latency, each after a `; `. */
void hardware_put(FILE *file, const struct hardware_facts *facts, const struct power *power,
		  uint64_t expected_ns, uint64_t latency_ns);

/* If it is certain that steal time explains the latency: how much. */
void hardware_put_steal(FILE *file, uint64_t steal_ns, uint64_t latency_ns);

/* The idle state that the CPU left last, or "". */
const char *hardware_state_left(const struct hardware_facts *facts, const struct power *power);

/* For a latency that no code of this machine explains: `steal`, `smi`, or "" if unknown. */
const char *hardware_blamed(const struct hardware_facts *facts, uint64_t latency_ns);

/* Writes all counts, such as `3 NMIs, steal 190us in the 2s before`; nothing if all are zero. */
void hardware_put_counts(FILE *file, const struct hardware_facts *facts, const char *before);

/* NULL if out of memory. */
json_object *hardware_facts_json(const struct hardware_facts *facts, const struct power *power);

#endif
