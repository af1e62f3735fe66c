/* SPDX-License-Identifier: GPL-2.0-only */
/* A cause without the differences between boots, hosts, builds and recorders; see
 * docs/causes.md. */
#ifndef REPORT_FINGERPRINT_H
#define REPORT_FINGERPRINT_H

#include <json-c/json.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "cause/fingerprint_names.h"
#include "util.h"

/* Prefix of a task among the frames. */
#define FINGERPRINT_TASK "task:"

/* Raise it when the rules change; it is hashed too. */
#define FINGERPRINT_VERSION 3
#define FINGERPRINT_FRAMES_MAX 24
/* `irqs-off/acme_flush:1a2b3c4d` */
#define FINGERPRINT_ID_SIZE (24 + FINGERPRINT_NAME_SIZE + 10)

struct fingerprint {
	char kind[24]; /* empty: nothing was late */
	/* Innermost first: functions, then at most one entry in brackets; or a task alone. */
	char frames[FINGERPRINT_FRAMES_MAX][FINGERPRINT_NAME_SIZE];
	size_t nr;
	char sender[FINGERPRINT_NAME_SIZE]; /* function that sent the interrupt; empty: unknown */
	uint32_t hash;
	char id[FINGERPRINT_ID_SIZE];
};

/* Sets hash and id from the other members. */
void fingerprint_seal(struct fingerprint *fingerprint);

/* The text that is hashed. NULL if out of memory. */
char *fingerprint_text(const struct fingerprint *fingerprint);

/* NULL: none. */
json_object *fingerprint_json(const struct fingerprint *fingerprint);

/* Reads kind, chain and sender from an untrusted file. Returns 0 or -EINVAL. */
int fingerprint_from_json(struct fingerprint *fingerprint, json_object *json) _must_check_;

#endif
