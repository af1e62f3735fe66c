/* SPDX-License-Identifier: GPL-2.0-only */
/* Merged profiles of captures: functions with equal callers share a place. */
#ifndef CTL_CAUSES_PROFILES_H
#define CTL_CAUSES_PROFILES_H

#include "profile/profile.h"

/* In place of a sighting: a control. */
#define PROFILES_CONTROL SIZE_MAX

enum feature_kind {
	FEATURE_FUNCTION,
	FEATURE_INTERRUPT,
	FEATURE_SENDER,
	FEATURE_TASK,
	FEATURE_PATH, /* only in charts: a task without functions */
	FEATURE_NR = FEATURE_PATH,
};

struct place {
	uint32_t feature;
	uint32_t parent;      /* the caller, at a lower index; 0: none. Place 0 is the root. */
	uint32_t child, next; /* places; 0: none */
	bool again;	      /* recursive: a caller is the same function */
	size_t stay;	      /* newest stay */
};

struct stay {
	uint32_t place;
	uint64_t self_ns;
};

/* A feature in a capture. */
struct having {
	uint32_t feature;
	uint64_t ns;
};

struct havings {
	struct having *list; /* sorted by feature, then by time, longest first */
	size_t nr, room;
	size_t captures;
};

struct profiles {
	struct names *names; /* of features: a digit for the kind, then the name */
	struct place *places;
	uint32_t nr_places;
	struct stay *stays; /* grouped by capture, callers first */
	size_t nr_stays;
	struct profiled {
		size_t sighting;  /* or PROFILES_CONTROL */
		size_t first, nr; /* range of `stays` */
		uint64_t window_ns;
	} * list;
	size_t nr, nr_controls;
	struct havings controls; /* after ranking_prepare() */
};

/* Returns 0 or -ENOMEM. */
int profiles_add(struct profiles *profiles, const struct profile *profile,
		 size_t sighting) _must_check_;
void profiles_release(struct profiles *profiles);

static inline enum feature_kind profiles_kind(const struct profiles *profiles, uint32_t feature)
{
	return (enum feature_kind)(names_get(profiles->names, feature)[0] - '0');
}

static inline const char *profiles_name(const struct profiles *profiles, uint32_t feature)
{
	return names_get(profiles->names, feature) + 1;
}

#endif
