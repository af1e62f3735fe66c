/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/*
 * hardware/: what the machine did besides the kernel's work. Counters are read when a session is
 * armed and at a spike. May include base/.
 */
#ifndef LIB_HARDWARE_H
#define LIB_HARDWARE_H

#include <stddef.h>
#include <stdint.h>

#include "machine/base.h"

struct json_object;
struct hardware;

enum hardware_counter {
	HARDWARE_SMIS,	/* system management interrupts */
	HARDWARE_STEAL, /* ns that the hypervisor gave to other guests */
	HARDWARE_NMIS,
	HARDWARE_THROTTLES, /* thermal, of core and package */
	HARDWARE_NR,
};

/* Counters of one CPU, or their increase; UINT64_MAX: unknown. */
struct hardware_counts {
	uint64_t time_ns;
	uint64_t counts[HARDWARE_NR];
	uint64_t steal_ns;	/* since boot */
	uint64_t late_steal_ns; /* since the scheduler's last update before the spike */
};

/* Omits what this machine cannot count. Returns 0 or -ENOMEM. */
int hardware_open(struct hardware **ret, const int *cpus, size_t nr_cpus);
void hardware_free(struct hardware *hardware);

/* Restarts the counts of a CPU; negative: of all. */
void hardware_arm(struct hardware *hardware, int cpu);

/* The increase since then, and the time. All unknown if the CPU is negative or not watched. */
struct hardware_counts hardware_take(struct hardware *hardware, int cpu);

/* at_spike: steal time since boot, as known to the scheduler at the spike. */
void hardware_narrow(struct hardware_counts *rise, uint64_t at_spike);

/* Includes the idle states of the CPU. */
struct json_object *hardware_json(const struct hardware_counts *rise, int cpu);

extern const struct probe hardware_probe;

#endif
