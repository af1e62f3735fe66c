/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What ran while a timer was late, by names that are equal across boots, hosts and recorders, to
 * compare spikes with controls.
 *
 * profile/ makes, writes and reads it. It may include compare/.
 */
#ifndef REPORT_PROFILE_H
#define REPORT_PROFILE_H

#include <string.h>

#include "account/account.h"

/* Raise it when the rules change. */
#define PROFILE_VERSION 1
/* Only the longest are kept. */
#define PROFILE_NODES_MAX 512
#define PROFILE_ROWS_MAX 32

struct profile_node {
	/* A function; an interrupt, such as `[local_timer]`; or, without functions, a task, such as
	 * `task:stress`. */
	char name[FINGERPRINT_NAME_SIZE];
	uint32_t parent;      /* the caller, at a lower index; 0: none. Node 0 is the root. */
	uint32_t child, next; /* nodes; 0: none */
	uint64_t self_ns;
};

struct profile_row {
	char name[FINGERPRINT_NAME_SIZE];
	uint64_t ns;
};

struct profile_rows {
	struct profile_row *rows; /* longest first */
	size_t nr;
};

struct profile {
	uint64_t window_ns; /* the latency; for a control, the whole report */
	struct profile_node *nodes;
	uint32_t nr_nodes;
	struct profile_rows senders; /* functions, or else tasks, that sent interrupts or work, and
					the time of these */
	struct profile_rows tasks;
};

/* Returns 0 or -ENOMEM. */
int profile_make(struct profile *profile, const struct account *account) _must_check_;
void profile_release(struct profile *profile);

/* NULL if out of memory. */
json_object *profile_json(const struct profile *profile);

/* Reads an untrusted file. Returns 0, -ENOENT for another version, -EINVAL or -ENOMEM. */
int profile_from_json(struct profile *profile, json_object *json) _must_check_;

/* Fills an array of nr_nodes: time of each node with its callees. */
void profile_totals(const struct profile *profile, uint64_t *totals);

static inline bool profile_is_task(const char *name)
{
	return !strncmp(name, FINGERPRINT_TASK, sizeof(FINGERPRINT_TASK) - 1);
}

#endif
