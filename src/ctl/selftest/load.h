/* SPDX-License-Identifier: GPL-2.0-only */
/* What a self-test catches: a function of known name that makes timers late, on a CPU that is never
 * idle; and a process that counts the signals it gets. All of it are processes of its own. */
#ifndef CTL_SELFTEST_LOAD_H
#define CTL_SELFTEST_LOAD_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "util.h"

/* What the function's name has, and that of the one it calls: see bpf/late.bpf.c. */
#define LOAD_FUNCTION "late_s"
/* By tracepoints it is this interrupt. */
#define LOAD_INTERRUPT "call_function_single"
/* As perf_poke_target has it. */
#define LOAD_WAKE "perf-poke-selftest"

#define LOAD_PROCESSES 4

struct load {
	struct late_bpf *skel;
	struct load_shared *shared;
	int cpu;
	int gate[2];		    /* a byte for each spin */
	int ball[2];		    /* what the busy two hand to each other */
	pid_t pids[LOAD_PROCESSES]; /* the first is the target: it counts SIGUSR2 */
	uint64_t spin_ns;
};

/* Loads the function; needs root. For load_close(), also on failure. Returns 0 or a negative errno.
 */
int load_open(struct load *load, int cpu, uint64_t spin_ns) _must_check_;

/* Starts the processes; the target waits for LOAD_WAKE too, as perf does. Returns 0 or a negative
 * errno. */
int load_start(struct load *load) _must_check_;
/* The CPU is busy from now on: what is slow to arm is not made slower. Returns 0 or a negative
 * errno.
 */
int load_busy(const struct load *load) _must_check_;
/* Ends all but the target. */
void load_calm(struct load *load);
void load_stop(struct load *load);

/* Makes timers of the CPU late, once. */
void load_spin(const struct load *load);

/* Whether it was one of these that a timer waited for. */
bool load_made(const struct load *load, uint64_t expected_ns, uint64_t time_ns);

unsigned int load_signals(const struct load *load);

void load_close(struct load *load);

#endif
