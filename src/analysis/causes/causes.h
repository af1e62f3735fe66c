/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Captures grouped by the fingerprints of their causes: those of a group are equal.
 *
 * causes/ collects them from folders and archives, groups them, and compares them with known ones.
 */
#ifndef ANALYSIS_CAUSES_H
#define ANALYSIS_CAUSES_H

#include <json-c/json.h>

#include "cause/account.h"

struct sighting {
	const char *path; /* of the capture, or of its archive */
	const char *host; /* or "" */
	const char *sentence;
	uint64_t wall_ns; /* since 1970; 0: unknown */
	uint64_t latency_ns;
	int cpu; /* negative: none */
};

struct group {
	struct fingerprint fingerprint;
	struct sighting *sightings; /* by time */
	size_t count;
	/* After causes_sort_groups(): */
	const struct sighting *worst;
	uint64_t p50_ns;
	uint64_t first_ns, last_ns; /* since 1970; 0: unknown */
	const char **hosts;	    /* sorted */
	size_t nr_hosts;
	int *cpus; /* ascending */
	size_t nr_cpus;
};

struct causes {
	struct group **groups; /* after causes_sort_groups(), by count */
	size_t nr_groups;
	void *by_id;	   /* the groups, for tsearch() */
	size_t nr;	   /* captures with a cause */
	size_t without;	   /* captures without a cause: pokes */
	size_t unreadable; /* captures, folders and archives */
	struct hooks_count count;
};

/* Copies strings. Returns 0 or -ENOMEM. */
int causes_add_sighting(struct causes *causes, const struct sighting *sighting,
			const struct fingerprint *fingerprint) _must_check_;

/* Once all are added. Returns 0 or -ENOMEM. */
int causes_sort_groups(struct causes *causes) _must_check_;

/* NULL: none has this fingerprint. */
const struct group *causes_find_group(const struct causes *causes, const char *id);

void causes_release(struct causes *causes);

/* -- A file of known causes, edited by hand; see docs/causes.md -------------------------------- */

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
int known_causes_parse(struct known *known, const char *text, size_t size, char **why) _must_check_;

/* The same for a file; also returns the errno of reading it. */
int known_causes_read(struct known *known, const char *path, char **why) _must_check_;
void known_causes_release(struct known *known);

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
enum known_state known_judge_group(const struct known_judge *judge, const struct group *group,
				   const struct known_cause **cause);

/* Writes the groups as such a file. Keeps comments, dates and unseen causes of `known`, which may
 * be empty. */
int known_causes_write(FILE *file, const struct known *known, const struct causes *causes);

/* -- What a report concludes ------------------------------------------------------------------- */

/* Decoding takes long, so what a report concludes is kept in the user's cache. */

struct verdict {
	json_object *json;		/* sentence, cause and fingerprint, as in report --json */
	struct fingerprint fingerprint; /* empty kind: the capture has none */
};

/* Reads what is kept. Returns 0, -ENOENT if there is none, or -ENOMEM. */
int verdict_read_kept(struct verdict *verdict, const char *folder) _must_check_;

/* Keeps that of a report with its defaults, unless decoding had errors or symbols were missing.
 * Failures are ignored: it can be found again. */
void verdict_keep_in_cache(const struct account *account);

/* What a report with its defaults concludes, from the user's cache if it is there. Returns as
 * account_load(). */
int verdict_load_capture(struct verdict *verdict, const struct analysis_hooks *hooks,
			 const char *folder, char **why) _must_check_;

void verdict_release(struct verdict *verdict);

/* The sentence, or "". */
const char *verdict_sentence(const struct verdict *verdict);

/* Adds a capture, all captures below a folder, or those of an archive. Counts unreadable ones, and
 * shows their errors by hooks->message. Returns 0 or -ENOMEM. */
int causes_collect(struct causes *causes, const struct analysis_hooks *hooks,
		   const char *path) _must_check_;

#endif
