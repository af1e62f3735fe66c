/* SPDX-License-Identifier: GPL-2.0-only */
/* Ranks what spikes have more often, or for longer, than controls. */
#ifndef CTL_CAUSES_RANKING_H
#define CTL_CAUSES_RANKING_H

#include <stdio.h>

#include "causes/groups.h"

/* Captures of all causes. */
#define RANKING_ALL SIZE_MAX

/* The score, 0 to 1, is the F1 score of the rule "a capture with this feature is a spike", or, if
 * clearly better, "... with at least at_least_ns of it ...", weighted as if spikes and controls
 * were equally many. */
struct ranked {
	uint32_t feature;
	size_t spikes, controls;	   /* captures with the feature */
	uint64_t spike_ns, control_ns;	   /* mean time in these */
	uint64_t at_least_ns;		   /* 0: the rule without a time is best */
	size_t long_spikes, long_controls; /* captures with at least this */
	double f1;
	double more_ns; /* difference of the means over all captures */
};

struct ranking {
	struct ranked *rows; /* best first */
	size_t nr;
	size_t spikes, controls; /* number of compared captures */
};

/* Once all profiles are added. Returns 0 or -ENOMEM. */
int ranking_prepare(struct causes *causes) _must_check_;

/* For a group, by number. Without controls the ranking is empty. Returns 0 or -ENOMEM. */
int ranking_make(struct ranking *ranking, const struct causes *causes, size_t group) _must_check_;
void ranking_release(struct ranking *ranking);

/* Prints at most `max` lines of each kind. */
void ranking_print(FILE *file, const struct causes *causes, const struct ranking *ranking,
		   size_t max);

/* NULL: empty. */
json_object *ranking_json(const struct causes *causes, const struct ranking *ranking);

#endif
