/* SPDX-License-Identifier: GPL-2.0-only */
/* A file of known causes, edited by hand; see docs/causes.md. */
#ifndef CTL_CAUSES_KNOWN_H
#define CTL_CAUSES_KNOWN_H

#include "causes/groups.h"

#define KNOWN_WORSE_PERCENT 25

struct known_cause {
	char *pattern; /* of fingerprints, without the hash */
	char *id;      /* of one fingerprint, with the hash; NULL: only the pattern counts */
	struct fingerprint fingerprint; /* without a kind: the file has no chain */
	uint64_t worst_ns;		/* 0: any latency is known */
	uint64_t count;
	char expires[11]; /* last valid day, such as 2027-01-31; or "" */
	char *comment;	  /* or NULL */
};

struct known {
	struct known_cause *causes;
	size_t nr;
};

/* text[size] is NUL. Returns 0, -ENOMEM, or -EINVAL with *why (allocated): one line, beginning with
 * the line number. */
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
	double similarity;
	uint64_t worse_percent;
	char today[11]; /* such as 2026-11-21 */
};

/* *cause is the entry that decided, even if expired; or NULL. */
enum known_state known_judge(const struct known_judge *judge, const struct causes *causes,
			     const struct group *group, const struct known_cause **cause);

/* Writes the groups as such a file. Keeps comments, dates and unseen causes of `known`, which may
 * be NULL. */
int known_write(FILE *file, const struct known_judge *judge, const struct causes *causes);

#endif
