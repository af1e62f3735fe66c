/* SPDX-License-Identifier: GPL-2.0-only */
/* What is in spikes more often, or longer, than in controls. */
#ifndef CTL_CAUSES_RANKING_H
#define CTL_CAUSES_RANKING_H

#include <stdio.h>

#include "causes/groups.h"

/* Of the captures of all causes. */
#define RANKING_ALL SIZE_MAX

/* A score of 0 to 1, the F1 score of "has it, so is a spike", or, if that says clearly more, of
 * "has at least at_least_ns of it, so is a spike"; for as many spikes as controls. */
struct ranked {
	uint32_t feature;
	size_t spikes, controls;	   /* that have it */
	uint64_t spike_ns, control_ns;	   /* mean of these */
	uint64_t at_least_ns;		   /* 0: whether it is there says most */
	size_t long_spikes, long_controls; /* with at least that */
	double f1;
	double more_ns; /* difference of the means of all captures */
};

struct ranking {
	struct ranked *rows; /* best first */
	size_t nr;
	size_t spikes, controls; /* captures that were compared */
};

/* Of a group, by number. Nothing is ranked without controls. Returns 0 or -ENOMEM. */
int ranking_make(struct ranking *ranking, const struct causes *causes, size_t group) _must_check_;
void ranking_release(struct ranking *ranking);

/* At most `max` lines of each kind. */
void ranking_print(FILE *file, const struct causes *causes, const struct ranking *ranking,
		   size_t max);

/* NULL if there is none. */
json_object *ranking_json(const struct causes *causes, const struct ranking *ranking);

#endif
