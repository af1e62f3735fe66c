/* SPDX-License-Identifier: GPL-2.0-only */
/* Names without what differs between boots, hosts, builds and recorders; see docs/causes.md. */
#ifndef REPORT_FINGERPRINT_NAMES_H
#define REPORT_FINGERPRINT_NAMES_H

#define FINGERPRINT_NAME_SIZE 96

enum frame_role {
	FRAME_FUNCTION,
	FRAME_GLUE,  /* passes on: compilers inline it, and kernel versions rename it */
	FRAME_ENTRY, /* the code inside was called by the kernel's entry or scheduler */
};

/* Without the compiler's suffixes and prefixes, an offset and a module. All buffers have
 * FINGERPRINT_NAME_SIZE bytes; results contain no blank, '<' or '>'. */
void fingerprint_function(char *buf, const char *name);

/* Of a function's name; writes the token of an entry, such as `[write]` or `[workqueue]`. */
enum frame_role fingerprint_role(char *token, const char *function);

/* The token of an interrupt, a softirq or an exception, by the name that a recorder gives it: the
 * entry function, the vector, or `irq 45 nvme0q1`. */
void fingerprint_entry(char *token, const char *name);

/* A task's name without ids of CPUs, pools and threads. */
void fingerprint_task(char *buf, const char *comm);

/* An interrupt's name without numbers of instances and queues, and bus addresses. */
void fingerprint_irq(char *buf, const char *name);

#endif
