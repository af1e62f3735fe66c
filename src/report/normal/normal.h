/* SPDX-License-Identifier: GPL-2.0-only */
/* Compares a late activation with the normal ones of its timer in the same trace. */
#ifndef REPORT_NORMAL_H
#define REPORT_NORMAL_H

#include "account/account.h"
#include "normal/activations.h"
#include "normal/paths.h"

/* Fewer activations mean nothing. */
#define NORMAL_MIN 5

/* Nearest ranks of the normal activations. */
struct normal_time {
	uint64_t median_ns, p99_ns;
	uint64_t here_ns;
	bool normal_known, here_known;
};

enum normal_step {
	NORMAL_EXPIRY,	/* to the interrupt */
	NORMAL_HANDLER, /* to the timer's function */
	NORMAL_THREAD,	/* to the thread */
	NORMAL_WHOLE,
	NORMAL_NR_STEPS,
};

/* For a node of the paths, or for all nodes of a name. */
struct normal_row {
	uint32_t name;
	uint32_t seen; /* normal activations that have it */
	uint8_t kind;
	uint64_t count;		 /* visits in the late activation */
	struct normal_time self; /* without callees */
	uint64_t total_ns;	 /* in the late activation with callees; for a node */
	uint64_t median_total_ns;
};

struct normal {
	const struct account *account; /* of the whole time */
	const struct account *there;   /* of the normal activations; NULL: `account` */
	struct activations activations;
	struct paths paths;
	bool same_timer; /* not just any timer with this function */
	bool any_timer;	 /* includes other timers, because the late one has too few */
	bool span;	 /* a span of the trigger, not a timer */
	struct normal_time steps[NORMAL_NR_STEPS];
	uint64_t more_ns;	  /* time of the late activation beyond the median */
	struct normal_row *nodes; /* by node */
	struct normal_row *longer;
	size_t nr_longer; /* rows beyond the median, largest difference first */
	uint32_t parts;	  /* node where the late activation first takes longer; 0: none */
	uint64_t parts_ns;
	uint32_t after; /* what ran before; 0: unknown, or nothing */
	uint32_t most;	/* innermost node with half of `more_ns`; 0: none */
};

static inline bool normal_is_enough(const struct normal *normal)
{
	return normal->activations.nr >= NORMAL_MIN;
}

/* Compares with the last `max` activations. `account` must stay valid. Returns 0 or -ENOMEM. */
int normal_make(struct normal *normal, const struct account *account, const struct timer *timer,
		size_t max) _must_check_;
/* The same with the normal activations of `theirs`, not of `account`. They are moved; their account
 * must stay valid, too. */
int normal_make_against(struct normal *normal, const struct account *account,
			const struct timer *timer, struct normal *theirs) _must_check_;
void normal_release(struct normal *normal);

/* For traces without functions: the function of the late task in the spike's stack. NULL:
 * unknown. */
const char *normal_stack_name(const struct normal *normal);

const char *normal_step_name(enum normal_step step);

void normal_print(FILE *file, const struct normal *normal, size_t top);
json_object *normal_json(const struct normal *normal, size_t top);

/* One line without newline, to be freed. NULL if out of memory. */
char *normal_sentence(const struct normal *normal);

/* As normal_json(), with all nodes, for a flame chart. */
json_object *normal_flame(const struct normal *normal);

#endif
