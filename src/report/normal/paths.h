/* SPDX-License-Identifier: GPL-2.0-only */
/* What ran in several activations, merged by chains of callers. */
#ifndef REPORT_PATHS_H
#define REPORT_PATHS_H

#include "spans/spans.h"

/* A function with its callers, up to their interrupt. Without functions: an interrupt or a task. */
struct path_node {
	uint32_t parent, child, next; /* nodes; 0: none. Node 0 is the root. */
	uint32_t name;
	uint32_t stay; /* newest stay */
	uint8_t kind;
};

/* Time of an activation in a node. */
struct path_stay {
	uint32_t node, activation, count;
	uint64_t self_ns, total_ns;
};

/* A moment from which a node runs. */
struct path_piece {
	uint32_t node; /* 0: unknown */
	uint64_t begin;
};

struct paths {
	const struct spans *spans; /* trace of the activations being added */
	struct names *names;	   /* of nodes, from the first trace */
	uint32_t *of;		   /* nodes of spans of code; 0: not known yet */
	struct path_node *nodes;
	uint32_t nr_nodes;
	struct path_stay *stays; /* grouped by activation */
	size_t nr_stays;
};

/* Returns 0 or -ENOMEM. */
int paths_init(struct paths *paths, const struct spans *spans) _must_check_;
void paths_release(struct paths *paths);

/* Continues with activations of another trace. Returns 0 or -ENOMEM. */
int paths_use(struct paths *paths, const struct spans *spans) _must_check_;

/* Adds what ran in [begin, end]. Returns 0 or -ENOMEM. */
int paths_add(struct paths *paths, uint32_t activation, uint64_t begin, uint64_t end) _must_check_;

/* The pieces of [begin, end] in an activation that was added, allocated. Returns 0 or -ENOMEM. */
int paths_pieces(struct paths *paths, uint64_t begin, uint64_t end, struct path_piece **pieces,
		 size_t *nr) _must_check_;

#endif
