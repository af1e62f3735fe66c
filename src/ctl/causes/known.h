/* SPDX-License-Identifier: GPL-2.0-only */
/* A file of known causes, edited by hand; see docs/causes.md. */
#ifndef CTL_CAUSES_KNOWN_H
#define CTL_CAUSES_KNOWN_H

#include "causes/groups.h"

#define KNOWN_WORSE_PERCENT 25

struct known_cause {
	const char *name;    /* a fingerprint, or a pattern of fingerprints without the hash */
	uint64_t worst_ns;   /* 0: any latency is known */
	const char *expires; /* last valid day, such as 2027-01-31; or "" */
	const char *comment; /* or "" */
};

struct known {
	json_object *json;	    /* the file, which owns the strings */
	struct known_cause *causes; /* patterns, then fingerprints, by name */
	size_t nr, nr_patterns;
};

/* text[size] is NUL. Returns 0, -ENOMEM, or -EINVAL with *why (allocated): one line. */
int known_parse(struct known *known, const char *text, size_t size, char **why) _must_check_;

/* The same for a file; also returns the errno of reading it. */
int known_read(struct known *known, const char *path, char **why) _must_check_;
void known_release(struct known *known);

enum known_state {
	KNOWN_NEW,
	KNOWN_WORSE,
	KNOWN_FINE,
};

/* `new`, `worse` or `known`. */
const char *known_state_name(enum known_state state);

struct known_judge {
	const struct known *known;
	uint64_t worse_percent;
	char today[11]; /* such as 2026-11-21 */
};

/* *cause is the entry that decided, even if expired; or NULL. */
enum known_state known_judge(const struct known_judge *judge, const struct group *group,
			     const struct known_cause **cause);

/* Writes the groups as such a file. Keeps comments, dates and unseen causes of `known`, which may
 * be empty. */
int known_write(FILE *file, const struct known *known, const struct causes *causes);

#endif
