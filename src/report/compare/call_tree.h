/* SPDX-License-Identifier: GPL-2.0-only */
/* What ran in parts of a trace, by chains of callers. */
#ifndef REPORT_CALL_TREE_H
#define REPORT_CALL_TREE_H

#include "spans/spans.h"

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

#endif
