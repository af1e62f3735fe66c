/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What is different in a late activation: from the normal ones before it in the same trace, or from
 * the late one of another capture.
 *
 * An activation is that of a timer, from its expiry to its function or its thread; or that of a
 * span of the trigger, from its entry to its exit.
 */
#ifndef ANALYSIS_COMPARE_H
#define ANALYSIS_COMPARE_H

#include "cause/account.h"
#include "events/tracepoints.h"

#define END_FUNCTIONS 4

/* Begin or end of a span. */
struct span_end {
	char functions[END_FUNCTIONS][128]; /* for Intel PT: any of these */
	size_t nr;
	char event[128]; /* for events; "": none */
	bool at_return;	 /* at the return of the function */
};

/* An entry or exit in a trace. */
struct mark {
	uint64_t at;
	uint64_t thread;
	bool is_exit;
};

struct marks {
	struct mark *array; /* in order */
	size_t nr;
};

/* What was late: a timer, which is known by its function, or a span. */
struct watched {
	uint64_t period_ns; /* of the workload that armed the timer; 0: unknown, or another timer */
	bool span;
	bool by_thread; /* entry and exit in one thread; otherwise the next exit on the CPU */
	struct span_end entry, exit;
	struct marks marks; /* from events; otherwise functions show them */
};

struct activation {
	uint64_t begin;	  /* expected expiry, else the interrupt; or entry of the span */
	uint64_t irq;	  /* entry of the interrupt; 0: unknown, like the next */
	uint64_t handler; /* call of the timer's function */
	uint64_t end;	  /* that call; turn of a late thread; or exit of the span */
	bool expected;	  /* `begin` is an expiry */
};

struct activations {
	struct activation late;
	struct activation *array; /* what it is compared with, oldest first */
	size_t nr;
	uint32_t thread; /* name of the late thread; 0: the interrupt or a span was late */
};

/* Finds the late activation. Returns 0 or -ENOMEM. */
int activations_find_late(struct activations *activations,
			  const struct account *account) _must_check_;

/* Finds the last `max` activations before the late one that were below the threshold and recorded
 * as a whole. Returns 0 or -ENOMEM. */
int activations_find_normal(struct activations *activations, const struct account *account,
			    const struct watched *watched, size_t max) _must_check_;

/* Entries and exits of the span, from events of the CPU, or from functions. Returns 0 or
 * -ENOMEM. */
int span_marks_read(struct marks *marks, const struct watched *watched,
		    struct tracepoints *tracepoints, int cpu) _must_check_;
int span_marks_find(struct marks *marks, const struct watched *watched,
		    const struct spans *spans) _must_check_;

/* A function with its callers, up to their interrupt. Without functions: an interrupt or a task. */
struct call_node {
	uint32_t parent, child, next; /* nodes; 0: none. Node 0 is the root. */
	uint32_t name;
	uint8_t kind;
	/* In the part that was added last: */
	uint32_t count;
	uint64_t begin;	   /* the first time */
	uint64_t self_ns;  /* without callees */
	uint64_t total_ns; /* with callees, without what interrupted them */
};

struct call_tree {
	struct call_node *nodes;
	uint32_t nr;
	bool by_name; /* without callers */
	struct names *names;
	const struct spans *spans; /* of the parts being added */
	uint32_t *of;		   /* nodes of spans of code; 0: not known yet */
};

/* Nodes have their names in `names`. Returns 0 or -ENOMEM. */
int call_tree_init(struct call_tree *tree, struct names *names, bool by_name) _must_check_;
void call_tree_release(struct call_tree *tree);

/* Sets the trace of the parts to add. Returns 0 or -ENOMEM. */
int call_tree_use(struct call_tree *tree, const struct spans *spans) _must_check_;

/* Adds what ran in [begin, end]. Returns 0 or -ENOMEM. */
int call_tree_add(struct call_tree *tree, uint64_t begin, uint64_t end) _must_check_;

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

/* Fewer normal activations mean nothing. */
#define COMPARISON_MIN 5

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

/* Default of `activations`. */
#define NORMAL_ACTIVATIONS 100

struct comparison_want {
	const char *folder;
	const char *against; /* another capture; NULL: normal activations of the same one */
	const char *symfs;   /* see struct decode_opts */
	size_t activations;  /* normal ones */
};

/* Reads the capture or both. The strings must stay valid. Call comparison_release() even on
 * failure. Returns 0, or a negative errno with *why: -EXDEV if the captures cannot be compared. */
int comparison_load(struct comparison *comparison, const struct analysis_hooks *hooks,
		    const struct comparison_want *want, char **why) _must_check_;

#endif
