/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/* What differs between architectures: the only table of that. A capture is read by the row of the
 * machine that took it. Names of functions of all architectures are in kernel_function.h. */
#ifndef SHARED_ARCH_H
#define SHARED_ARCH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define ARCH_CODE_SIZE 16
#define ARCH_KEPT_MAX 12
#define ARCH_DWARF_MAX 32

/* Where an interrupt hit the kernel. */
struct arch_hit {
	const uint8_t *code; /* the ARCH_CODE_SIZE bytes before */
	const char *symbol;  /* NULL: unknown */
	uint64_t offset;     /* from the begin of that function */
};

/* What it takes to unwind a user stack. Registers are words of the struct of a task's registers
 * that the kernel gives to tracers: struct pt_regs of x86-64, struct user_pt_regs of arm64. */
struct arch_unwind {
	uint8_t pc, sp;
	/* Those that a function keeps for its caller, and their numbers in DWARF. */
	struct {
		uint8_t word, dwarf;
	} kept[ARCH_KEPT_MAX];
	uint8_t nr_kept;
	uint8_t sp_dwarf;
	/* libdw unwinds by the values of all numbers below. 0: nothing is known. */
	uint8_t nr_dwarf;
	/* The bits of a user address: above them, arm64 signs return addresses. */
	uint64_t address_mask;
	/* A task of 64 bits has this value here. */
	struct {
		uint8_t word;
		uint64_t mask, value;
	} wide;
};

struct arch {
	const char *name; /* as uname -m has it */
	/* Local interrupts that are pending come by their vectors, the highest first. Those of
	 * devices are below the local timer's: when one comes, the timer's is not pending. A GIC
	 * takes those of one priority in an order of its own. */
	bool local_irqs_first;
	/* All interrupts from other CPUs have one handler. What one is for is told by the
	 * tracepoints ipi:ipi_entry and ipi:ipi_exit, which do nothing elsewhere. */
	bool has_ipi_events;
	bool has_tsc; /* else no Intel PT either */
	/* May have the PMU cs_etm: CoreSight, which records branches */
	bool has_coresight;
	/* Before the name of a system call: its function */
	const char *syscall_prefix;
	/* The interrupt by which a CPU has another call a function, here and in perf script */
	const char *call_interrupt, *call_in_perf;
	/* Whether the code had just enabled interrupts, so that the interrupt had been held off: 1
	 * or 0 if that is certain, else -1. */
	int (*held_interrupts_off)(const struct arch_hit *hit);
	struct arch_unwind unwind;
};

/* An architecture without a row has one of which nothing is known. */
const struct arch *arch_find(const char *name);

/* This machine's */
const struct arch *arch_here(void);

#endif
