/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/*
 * hardware/: what the machine did beside the kernel, by counters that are read when a session is
 * armed and again at a spike. May include base/.
 */
#ifndef LIB_HARDWARE_H
#define LIB_HARDWARE_H

#include <stddef.h>
#include <stdint.h>

#include "base/probe.h"

struct json_object;
struct hardware;

enum hardware_counter {
	HARDWARE_SMIS,	/* system management interrupts */
	HARDWARE_STEAL, /* ns that the hypervisor gave to others */
	HARDWARE_NMIS,
	HARDWARE_THROTTLES, /* for heat, of core and package */
	HARDWARE_NR,
};

/* Counters of one CPU, or by how much they rose; UINT64_MAX: not known. */
struct hardware_counts {
	uint64_t time_ns;
	uint64_t counts[HARDWARE_NR];
	uint64_t steal_ns;	/* since boot */
	uint64_t late_steal_ns; /* since the scheduler looked last before the spike */
};

/* What this machine cannot count is left out. Returns 0 or -ENOMEM. */
int hardware_open(struct hardware **ret, const int *cpus, size_t nr_cpus);
void hardware_free(struct hardware *hardware);

/* From now on counts begin anew on a CPU; negative: on all. */
void hardware_arm(struct hardware *hardware, int cpu);

/* The rise since then, and in how much time. A CPU that is not watched, or negative: nothing is
 * known. */
struct hardware_counts hardware_take(struct hardware *hardware, int cpu);

/* at_spike: steal time since boot, as the scheduler knew it at the spike. */
void hardware_narrow(struct hardware_counts *rise, uint64_t at_spike);

/* With the idle states of the CPU. */
struct json_object *hardware_json(const struct hardware_counts *rise, int cpu);

extern const struct probe hardware_probe;

#endif
