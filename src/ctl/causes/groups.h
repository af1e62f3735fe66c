/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Captures grouped by the fingerprints of their causes.
 *
 * causes/ collects, groups, compares and shows them. It may include bundle/, capture/ and cli/.
 */
#ifndef CTL_CAUSES_GROUPS_H
#define CTL_CAUSES_GROUPS_H

#include <stdbool.h>

#include "causes/profiles.h"
#include "fingerprint/fingerprint.h"

struct sighting {
	const char *path; /* of the capture, or of its archive */
	const char *host; /* or "" */
	uint64_t wall_ns; /* since 1970; 0: unknown */
	uint64_t latency_ns;
	int cpu;	  /* negative: none */
	char trigger[16]; /* or "" */
	char task[64];	  /* the interrupted task, or "" */
	size_t kind;	  /* index of its fingerprint */
};

/* A fingerprint that was seen. */
struct seen {
	struct fingerprint fingerprint;
	char *sentence; /* of its worst capture */
	uint64_t worst_ns;
	size_t count;
	size_t group;
};

/* Ordered by count. Its fingerprints are similar to the first, which is the most frequent one. */
struct group {
	size_t *seen; /* indices */
	size_t nr_seen;
	size_t *sightings; /* indices, by time */
	size_t count;
	size_t example; /* the worst sighting */
	uint64_t worst_ns, p50_ns;
	uint64_t first_ns, last_ns; /* since 1970; 0: unknown */
	const char **hosts;	    /* sorted */
	size_t nr_hosts;
	int *cpus; /* ascending */
	size_t nr_cpus;
};

struct causes {
	struct sighting *sightings;
	size_t nr, room;
	struct seen *seen;
	size_t nr_seen, room_seen;
	struct group *groups; /* after causes_group() */
	size_t nr_groups;
	struct profiles profiles; /* of sightings and of controls */
	struct unread {
		char *path;
		size_t sighting; /* or PROFILES_CONTROL */
	} * unread;		 /* captures whose stored profiles collect_profiles() reads */
	size_t nr_unread, unread_controls;
	size_t without;	   /* captures without a cause: pokes */
	size_t unreadable; /* captures, folders and archives */
};

/* Copies strings; `kind` is ignored. Returns 0 or -ENOMEM. */
int causes_add(struct causes *causes, const struct sighting *sighting,
	       const struct fingerprint *fingerprint, const char *sentence) _must_check_;

/* Groups fingerprints of at least this similarity. Returns 0 or -ENOMEM. */
int causes_group(struct causes *causes, double similarity) _must_check_;

void causes_release(struct causes *causes);

static inline const struct seen *group_seen(const struct causes *causes, const struct group *group,
					    size_t i)
{
	return &causes->seen[group->seen[i]];
}

#endif
