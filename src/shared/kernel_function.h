/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/* What is known of functions of the kernel by their names: the only table of such names. */
#ifndef SHARED_KERNEL_FUNCTION_H
#define SHARED_KERNEL_FUNCTION_H

#include <stddef.h>

enum kernel_function_meaning {
	/* Only helps: its caller matters. */
	KERNEL_SENDS = 1 << 0,	  /* implements interrupts between CPUs, or queues work */
	KERNEL_IRQS_ON = 1 << 1,  /* enables interrupts or preemption, or runs as a consequence */
	KERNEL_IRQS_OFF = 1 << 2, /* disables interrupts */
	KERNEL_DELAYS = 1 << 3,	  /* just waits or reads a clock */
	KERNEL_GLUE = 1 << 4,	  /* compilers inline it, kernel versions rename it */
	KERNEL_TRIGGER = 1 << 5,  /* runs a BPF program that takes a stack */
	/* Code that the kernel enters or leaves by. */
	KERNEL_PASSES = 1 << 6,	   /* between user space and kernel: disables interrupts briefly */
	KERNEL_INTERRUPT = 1 << 7, /* entry point of an interrupt: its caller was interrupted */
	KERNEL_NMI = 1 << 8,
	KERNEL_EXCEPTION = 1 << 9,
	KERNEL_SOFTIRQ = 1 << 10,
	KERNEL_FROM_CPU = 1 << 11, /* vector of an interrupt between CPUs */
	KERNEL_ENTRY = 1 << 12, /* entry, scheduler, thread or loop that calls all others: token */
	/* Prefixes of names. */
	KERNEL_BEFORE_VECTOR = 1 << 13,
	KERNEL_BEFORE_SYSCALL = 1 << 14,
	/* The CPU has nothing to do. */
	KERNEL_IDLE = 1 << 15,
	KERNEL_HALTS = 1 << 16, /* waits for an interrupt within it */
	/* Entry of all events with FRED: what it calls shows which. */
	KERNEL_EVENT = 1 << 17,
	KERNEL_LEAVES = 1 << 18, /* on the way back from an interrupt: the task's own work */
	/* A thread goes to sleep, or is woken. */
	KERNEL_WAITS = 1 << 19,	    /* the token is what it waits for */
	KERNEL_WAKES = 1 << 20,	    /* implements wakeups: its caller matters */
	KERNEL_SCHEDULER = 1 << 21, /* gives up the CPU: its caller matters */
	/* Enables interrupts at its end: what hits it was held off. */
	KERNEL_ENABLES_LAST = 1 << 22,
	KERNEL_FAULT = 1 << 23, /* handles page faults of one kind */
};

struct kernel_function {
	const char *name; /* with '*' at its end all that begin so */
	unsigned int meaning;
	/* The same name for the entry in all versions and recorders: of vectors that of the
	 * tracepoints irq_vectors:*, of softirqs that of /proc/softirqs. */
	const char *token;
};

/* Sorted by name. Names of x86 entries are those since Linux 5.8. Reasons of ipi:ipi_entry, which
 * have spaces, are among them. */
extern const struct kernel_function kernel_functions[];
extern const size_t kernel_functions_nr;

/* The longest name with one of the meanings that fits; a suffix of the compiler, such as
 * `.isra.0`, does not count. NULL: none. */
const struct kernel_function *kernel_function_find(const char *name, unsigned int meanings);

/* The rest of the name after such a prefix, or NULL. */
const char *kernel_function_after(const char *name, unsigned int meanings);

#endif
