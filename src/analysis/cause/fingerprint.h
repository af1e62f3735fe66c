/* SPDX-License-Identifier: GPL-2.0-only */
/* A cause without the differences between boots, hosts, builds and recorders; see
 * docs/causes.md. */
#ifndef ANALYSIS_FINGERPRINT_H
#define ANALYSIS_FINGERPRINT_H

#include <json-c/json.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "util.h"

struct cause;
struct facts;
struct findings;

#define FINGERPRINT_NAME_SIZE 96

enum frame_role {
	FRAME_FUNCTION,
	FRAME_GLUE,  /* skipped: compilers inline it, kernel versions rename it */
	FRAME_ENTRY, /* called the code inside from the kernel's entry or scheduler */
};

/* Names without those differences. Removes the compiler's suffixes and prefixes, offset and module.
 * All buffers have FINGERPRINT_NAME_SIZE bytes. Results contain no blank, '<' or '>'. */
void fingerprint_function_name(char *buf, const char *name);

/* The role of a function. For an entry, stores its token, such as `[write]` or `[workqueue]`. */
enum frame_role fingerprint_frame_role(char *token, const char *function);

/* The token of an interrupt, softirq or exception by a recorder's name for it: the entry function,
 * the vector, or `irq 45 nvme0q1`. */
void fingerprint_entry_token(char *token, const char *name);

/* A task's name without ids of CPUs, pools and threads. */
void fingerprint_task_name(char *buf, const char *comm);

/* An interrupt's name without bus addresses and numbers of instances and queues. */
void fingerprint_irq_name(char *buf, const char *name);

/* Prefix of a task among the frames. */
#define FINGERPRINT_TASK "task:"

/* Raise it when the rules change; it is hashed too. */
#define FINGERPRINT_VERSION 5
#define FINGERPRINT_FRAMES_MAX 24
/* `irqs-off/acme_flush:1a2b3c4d` */
#define FINGERPRINT_ID_SIZE (24 + FINGERPRINT_NAME_SIZE + 10)

struct fingerprint {
	char kind[24]; /* empty: nothing was late */
	/* Innermost first: functions, then at most one entry in brackets; then at most one task. */
	char frames[FINGERPRINT_FRAMES_MAX][FINGERPRINT_NAME_SIZE];
	size_t nr;
	char sender[FINGERPRINT_NAME_SIZE]; /* function that sent the interrupt; empty: unknown */
	uint32_t hash;
	char id[FINGERPRINT_ID_SIZE];
};

/* Whether it has the name of a task. */
bool fingerprint_has_task(const struct fingerprint *fingerprint);

/* Sets hash and id from the other members. */
void fingerprint_seal(struct fingerprint *fingerprint);

/* The text that is hashed. NULL if out of memory. */
char *fingerprint_text(const struct fingerprint *fingerprint);

/* NULL: none. */
json_object *fingerprint_json(const struct fingerprint *fingerprint);

/* Reads kind, chain and sender from an untrusted file. Returns 0 or -EINVAL. */
int fingerprint_from_json(struct fingerprint *fingerprint, json_object *json) _must_check_;

/* Makes a fingerprint from the findings of a report. */
void fingerprint_make(struct fingerprint *fingerprint, const struct cause *cause,
		      const struct findings *findings, const struct facts *facts);

#endif
