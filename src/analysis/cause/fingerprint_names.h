/* SPDX-License-Identifier: GPL-2.0-only */
/* Names without the differences between boots, hosts, builds and recorders; see docs/causes.md. */
#ifndef REPORT_FINGERPRINT_NAMES_H
#define REPORT_FINGERPRINT_NAMES_H

#include <stdbool.h>

#define FINGERPRINT_NAME_SIZE 96

enum frame_role {
	FRAME_FUNCTION,
	FRAME_GLUE,  /* skipped: compilers inline it, kernel versions rename it */
	FRAME_ENTRY, /* called the code inside from the kernel's entry or scheduler */
};

/* Removes the compiler's suffixes and prefixes, offset and module. All buffers have
 * FINGERPRINT_NAME_SIZE bytes. Results contain no blank, '<' or '>'. */
void fingerprint_function(char *buf, const char *name);

/* The role of a function. For an entry, stores its token, such as `[write]` or `[workqueue]`. */
enum frame_role fingerprint_role(char *token, const char *function);

/* The token of an interrupt, softirq or exception by a recorder's name for it: the entry function,
 * the vector, or `irq 45 nvme0q1`. */
void fingerprint_entry(char *token, const char *name);

/* A task's name without ids of CPUs, pools and threads. */
void fingerprint_task(char *buf, const char *comm);

/* An interrupt's name without bus addresses and numbers of instances and queues. */
void fingerprint_irq(char *buf, const char *name);

#endif
