/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What is different in a late activation: from the normal ones before it in the same trace, or from
 * the late one of another capture.
 */
#ifndef REPORT_COMPARISON_H
#define REPORT_COMPARISON_H

#include "compare/activations.h"
#include "compare/call_tree.h"

/* Fewer normal activations mean nothing. */
#define COMPARISON_MIN 5

/* Nearest ranks of the reference, beside the late activation. */
struct compared_time {
	uint64_t median_ns, p99_ns;
	uint64_t here_ns;
	bool known, here_known;
};

enum comparison_step {
	COMPARISON_EXPIRY,  /* to the interrupt */
	COMPARISON_HANDLER, /* to the timer's function */
	COMPARISON_THREAD,  /* to the thread */
	COMPARISON_WHOLE,
	COMPARISON_NR_STEPS,
};

struct compared_node {
	uint32_t node;
	uint32_t seen;		   /* activations of the reference that have it */
	struct compared_time self; /* without callees */
	uint64_t median_total_ns;
};

struct comparison {
	struct account here;  /* with the late activation */
	struct account there; /* with `against`: the other capture */
	bool against;
	bool same_timer; /* not just any timer with this function */
	struct activations activations;
	struct call_tree tree, functions;  /* `functions`: without callers */
	struct compared_node *nodes;	   /* of `tree` */
	struct compared_node *differences; /* of `functions`, largest first */
	size_t nr_differences;
	struct compared_time steps[COMPARISON_NR_STEPS];
	uint64_t more_ns; /* time of the late activation beyond the median */
	uint32_t most;	  /* innermost node of `tree` with half of `more_ns`; 0: none */
};

static inline bool comparison_is_enough(const struct comparison *comparison)
{
	return comparison->against || comparison->activations.nr >= COMPARISON_MIN;
}

/* Compares `here` with its last `max` normal activations, or with the late one of `there` if
 * `watched` is NULL. Set the accounts before; they are released with it, also on failure. Returns 0
 * or -ENOMEM. */
int comparison_make(struct comparison *comparison, const struct watched *watched,
		    size_t max) _must_check_;
void comparison_release(struct comparison *comparison);

void comparison_print(FILE *file, const struct comparison *comparison, size_t top);

/* With all nodes, for a flame chart, or without. */
json_object *comparison_json(const struct comparison *comparison, size_t top, bool nodes);

#endif
