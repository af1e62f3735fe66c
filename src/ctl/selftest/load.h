/* SPDX-License-Identifier: GPL-2.0-only */
/* The load of a selftest, in processes of its own: a BPF program of a known name that delays timers
 * on a busy CPU, and a target that counts the signals it receives. */
#ifndef CTL_SELFTEST_LOAD_H
#define CTL_SELFTEST_LOAD_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "util.h"

/* Common part of the function names in bpf/late.bpf.c. */
#define LOAD_FUNCTION "late_s"
/* The interrupt that runs the program, as seen by tracepoints. */
#define LOAD_INTERRUPT "call_function_single"
/* See struct perf_poke_target. */
#define LOAD_WAKE "perf-poke-selftest"

#define LOAD_PROCESSES 4

struct load {
	struct late_bpf *skel;
	struct load_shared *shared;
	int cpu;
	int gate[2];		    /* pipe: a byte for each spin */
	int ball[2];		    /* socketpair of the busy tasks */
	pid_t pids[LOAD_PROCESSES]; /* the first is the target, which counts SIGUSR2 */
	uint64_t spin_ns;
};

/* Loads the program; needs root. Call load_close() even on failure. Returns 0 or a negative errno.
 */
int load_open(struct load *load, int cpu, uint64_t spin_ns) _must_check_;

/* Starts the processes. Returns 0 or a negative errno. */
int load_start(struct load *load) _must_check_;

/* Makes the CPU busy, after arming, which it would slow down. Returns 0 or a negative errno. */
int load_busy(const struct load *load) _must_check_;

/* Ends all processes but the target. */
void load_calm(struct load *load);
void load_stop(struct load *load);

/* Delays the timers of the CPU once. */
void load_spin(const struct load *load);

/* Whether a spin delayed a timer with these times. */
bool load_made(const struct load *load, uint64_t expected_ns, uint64_t time_ns);

unsigned int load_signals(const struct load *load);

void load_close(struct load *load);

#endif
