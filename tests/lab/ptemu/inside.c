// SPDX-License-Identifier: GPL-2.0-only
#define _GNU_SOURCE
#include "inside.h"

#include <dlfcn.h>
#include <stdio.h>

#define CPUS 64
/* QEMU's own turns last half of the time to the next timer, and make those of other CPUs late. */
#define TURN_NS 10000

static u64 step;
static void (*icount_update)(void *cpu);
static s64 (*icount_get)(void);
static void (*cpu_exit)(void *cpu);

/* All that is known of a CPU is where it is. */
static bool single;
static void **current, *cpus[CPUS];
static unsigned int running;
static u64 turn_ns;

bool inside_single(void)
{
	single = dlsym(RTLD_DEFAULT, "current_cpu");
	if (!single)
		fprintf(stderr, "ptemu: this QEMU does not tell which CPU runs\n");
	return single;
}

bool inside_icount(unsigned int shift)
{
	icount_update = (void (*)(void *))dlsym(RTLD_DEFAULT, "icount_update");
	icount_get = (s64(*)(void))dlsym(RTLD_DEFAULT, "icount_get");
	cpu_exit = (void (*)(void *))dlsym(RTLD_DEFAULT, "cpu_exit");
	if (!icount_update || !icount_get || !cpu_exit) {
		fprintf(stderr, "ptemu: icount=%u: this QEMU does not tell the time\n", shift);
		return false;
	}
	step = 1ULL << shift;
	return inside_single();
}

/* It is the thread that they all run in that adds them; others have a variable of their own. */
void inside_add(unsigned int index)
{
	if (!single)
		return;
	current = dlsym(RTLD_DEFAULT, "current_cpu");
	cpus[index] = *current;
}

unsigned int inside_cpu(unsigned int index)
{
	return single ? running : index;
}

static bool find_running(void)
{
	if (cpus[running] == *current)
		return false;
	turn_ns = 0;
	for (running = 0; running < CPUS - 1 && cpus[running] != *current;)
		running++;
	return true;
}

bool inside_block(size_t insns)
{
	bool is_another = find_running();

	turn_ns += insns * step;
	if (turn_ns >= TURN_NS) {
		turn_ns = 0;
		cpu_exit(*current);
	}
	return is_another;
}

u64 inside_step(void)
{
	return step;
}

u64 inside_now(void)
{
	void *cpu = *current;
	u64 now;

	icount_update(cpu);
	/* Within a block QEMU refuses to tell a CPU the time. */
	*current = NULL;
	now = icount_get();
	*current = cpu;
	return now;
}
