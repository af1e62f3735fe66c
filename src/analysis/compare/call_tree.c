// SPDX-License-Identifier: GPL-2.0-only
#include "compare/compare.h"

#include <string.h>

#include "array.h"
#include "task.h"

/* Deeper stacks lose their outer frames. */
#define DEPTH_MAX 1024

struct walk {
	struct call_tree *tree;
	const struct lane *code, *tasks;
	uint64_t begin, end;
};

int call_tree_init(struct call_tree *tree, struct names *names, bool by_name)
{
	*tree = (struct call_tree){ .names = names, .nr = 1, .by_name = by_name };
	tree->nodes = calloc(1, sizeof(*tree->nodes));
	return tree->nodes ? 0 : -ENOMEM;
}

void call_tree_release(struct call_tree *tree)
{
	free(tree->of);
	free(tree->nodes);
	*tree = (struct call_tree){ 0 };
}

int call_tree_use(struct call_tree *tree, const struct spans *spans)
{
	free(tree->of);
	tree->spans = spans;
	tree->of = calloc(spans->lanes[LANE_CODE].nr + 1, sizeof(*tree->of));
	return tree->of ? 0 : -ENOMEM;
}

/* Moves it to the front, for the same functions are called again and again. */
static int call_tree_find_node(struct call_tree *tree, uint32_t parent, const char *name,
			       uint8_t kind, uint32_t *node)
{
	uint32_t number = names_add(tree->names, name), *link = &tree->nodes[parent].child;
	int err = names_error(tree->names);

	for (; (*node = *link); link = &tree->nodes[*node].next) {
		struct call_node *found = &tree->nodes[*node];

		if (found->name != number || found->kind != kind)
			continue;
		*link = found->next;
		found->next = tree->nodes[parent].child;
		tree->nodes[parent].child = *node;
		return err;
	}
	if (!err)
		err = array_grow(&tree->nodes, tree->nr, sizeof(*tree->nodes));
	if (err)
		return err;
	*node = tree->nr++;
	tree->nodes[*node] = (struct call_node){
		.parent = parent, .next = tree->nodes[parent].child, .name = number, .kind = kind
	};
	tree->nodes[parent].child = *node;
	return 0;
}

/* Tasks are shown by name, without the thread's id. */
static int walk_task_node(struct walk *walk, uint32_t turn, uint32_t *node)
{
	const struct span *task = &walk->tasks->spans[turn];
	const char *name = names_get(walk->tree->spans->names, task->name);
	_cleanup_free_ char *comm = strndup(name, task_name_comm_length(name, NULL));

	return comm ? call_tree_find_node(walk->tree, 0, comm, task->kind, node) : -ENOMEM;
}

/* The chain of an interrupt does not depend on what it interrupts. */
static bool begins_call_chain(const struct span *span)
{
	return span->kind == SPAN_INTERRUPT || span->kind == SPAN_SOFTIRQ ||
	       span->kind == SPAN_NMI || span->kind == SPAN_EXCEPTION;
}

/* Its caller has been added. */
static int walk_code_node(const struct walk *walk, uint32_t i)
{
	struct call_tree *tree = walk->tree;
	const struct span *span = &walk->code->spans[i];
	bool alone = tree->by_name || span->parent == SPAN_NONE || begins_call_chain(span);

	if (tree->of[i])
		return 0;
	return call_tree_find_node(tree, alone ? 0 : tree->of[span->parent],
				   names_get(tree->spans->names, span->name), span->kind,
				   &tree->of[i]);
}

static void walk_enter_node(const struct walk *walk, uint32_t node, const struct span *span)
{
	struct call_node *to = &walk->tree->nodes[node];
	uint64_t ns = span_time_within(span, walk->begin, walk->end);

	if (!to->count++)
		to->begin = span->begin > walk->begin ? span->begin : walk->begin;
	to->self_ns += ns;
	to->total_ns += ns;
}

static void subtract_time(uint64_t *from, uint64_t ns)
{
	*from -= ns < *from ? ns : *from;
}

/* A caller's own time excludes callees; its total time excludes what interrupted them. */
static void walk_leave_out(const struct walk *walk, const struct span *span)
{
	uint64_t ns = span_time_within(span, walk->begin, walk->end);
	const uint32_t *of = walk->tree->of;
	struct call_node *nodes = walk->tree->nodes;
	uint32_t i = span->parent;

	subtract_time(&nodes[of[i]].self_ns, ns);
	if (!begins_call_chain(span))
		return;
	for (; i != SPAN_NONE; i = walk->code->spans[i].parent) {
		subtract_time(&nodes[of[i]].total_ns, ns);
		/* Already excluded from what was interrupted. */
		if (begins_call_chain(&walk->code->spans[i]))
			break;
	}
}

/* An interrupt belongs to one turn of a task. */
static int walk_leave_out_of_task(struct walk *walk, const struct span *span)
{
	uint64_t ns = span_time_within(span, walk->begin, walk->end);
	uint32_t turn = lane_innermost_at(walk->tasks,
					  span->begin < walk->begin ? walk->begin : span->begin);
	uint32_t node;
	int err;

	if (turn == SPAN_NONE)
		return 0;
	err = walk_task_node(walk, turn, &node);
	if (err)
		return err;
	subtract_time(&walk->tree->nodes[node].self_ns, ns);
	subtract_time(&walk->tree->nodes[node].total_ns, ns);
	return 0;
}

static int walk_add_code_span(struct walk *walk, uint32_t i)
{
	const struct span *span = &walk->code->spans[i];
	int err = walk_code_node(walk, i);

	if (err)
		return err;
	walk_enter_node(walk, walk->tree->of[i], span);
	if (span->parent != SPAN_NONE)
		walk_leave_out(walk, span);
	else if (!walk->tree->spans->has_functions)
		return walk_leave_out_of_task(walk, span);
	return 0;
}

static int walk_add_tasks(struct walk *walk)
{
	const struct lane *tasks = walk->tasks;
	uint32_t i = lane_innermost_at(tasks, walk->begin), node;
	int err = 0;

	if (i == SPAN_NONE)
		i = (uint32_t)ARRAY_COUNT_BEFORE(tasks->nr, n, tasks->spans[n].begin < walk->begin);
	for (; i < tasks->nr && tasks->spans[i].begin < walk->end && !err; i++) {
		err = walk_task_node(walk, i, &node);
		if (!err)
			walk_enter_node(walk, node, &tasks->spans[i]);
	}
	return err;
}

/* What was called before, outermost first. */
static int walk_add_open_spans(struct walk *walk)
{
	uint32_t open[DEPTH_MAX], nr = 0;
	int err = 0;

	for (uint32_t i = lane_innermost_at(walk->code, walk->begin);
	     i != SPAN_NONE && nr < DEPTH_MAX; i = walk->code->spans[i].parent)
		open[nr++] = i;
	while (nr && !err)
		err = walk_add_code_span(walk, open[--nr]);
	return err;
}

int call_tree_add(struct call_tree *tree, uint64_t begin, uint64_t end)
{
	const struct lane *code = &tree->spans->lanes[LANE_CODE];
	struct walk walk = { tree, code, &tree->spans->lanes[LANE_TASKS], begin, end };
	uint32_t i = (uint32_t)ARRAY_COUNT_BEFORE(code->nr, n, code->spans[n].begin <= begin);
	int err = 0;

	for (uint32_t node = 0; node < tree->nr; node++) {
		tree->nodes[node].count = 0;
		tree->nodes[node].self_ns = tree->nodes[node].total_ns = 0;
	}
	if (!tree->spans->has_functions)
		err = walk_add_tasks(&walk);
	if (!err)
		err = walk_add_open_spans(&walk);
	for (; i < code->nr && code->spans[i].begin < end && !err; i++)
		err = walk_add_code_span(&walk, i);
	return err;
}
