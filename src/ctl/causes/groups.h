/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Captures grouped by the fingerprints of their causes: those of a group are equal.
 *
 * causes/ collects, groups, compares and shows them. It may include bundle/, capture/ and cli/.
 */
#ifndef CTL_CAUSES_GROUPS_H
#define CTL_CAUSES_GROUPS_H

#include "cause/fingerprint.h"

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
	/* After causes_sort(): */
	const struct sighting *worst;
	uint64_t p50_ns;
	uint64_t first_ns, last_ns; /* since 1970; 0: unknown */
	const char **hosts;	    /* sorted */
	size_t nr_hosts;
	int *cpus; /* ascending */
	size_t nr_cpus;
};

struct causes {
	struct group **groups; /* after causes_sort(), by count */
	size_t nr_groups;
	void *by_id;	   /* the groups, for tsearch() */
	size_t nr;	   /* captures with a cause */
	size_t without;	   /* captures without a cause: pokes */
	size_t unreadable; /* captures, folders and archives */
};

/* Copies strings. Returns 0 or -ENOMEM. */
int causes_add(struct causes *causes, const struct sighting *sighting,
	       const struct fingerprint *fingerprint) _must_check_;

/* Once all are added. Returns 0 or -ENOMEM. */
int causes_sort(struct causes *causes) _must_check_;

/* NULL: none has this fingerprint. */
const struct group *causes_find(const struct causes *causes, const char *id);

void causes_release(struct causes *causes);

#endif
