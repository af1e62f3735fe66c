// SPDX-License-Identifier: GPL-2.0-only
#include "normal/paths.h"

#include <string.h>

#include "array.h"
#include "task.h"

/* Deeper stacks lose their outer frames. */
#define DEPTH_MAX 1024

struct walk {
	struct paths *paths;
	uint32_t activation;
	uint64_t begin, end;
	size_t first; /* stay of this activation */
};

int paths_init(struct paths *paths, const struct spans *spans)
{
	*paths = (struct paths){ .names = spans->names, .nr_nodes = 1 };
	paths->nodes = calloc(1, sizeof(*paths->nodes));
	return paths->nodes ? paths_use(paths, spans) : -ENOMEM;
}

int paths_use(struct paths *paths, const struct spans *spans)
{
	free(paths->of);
	paths->spans = spans;
	paths->of = calloc(spans->lanes[LANE_CODE].nr + 1, sizeof(*paths->of));
	return paths->of ? 0 : -ENOMEM;
}

void paths_release(struct paths *paths)
{
	free(paths->of);
	free(paths->nodes);
	free(paths->stays);
	*paths = (struct paths){ 0 };
}

static int find_node(struct paths *paths, uint32_t parent, uint32_t name, uint8_t kind,
		     uint32_t *node)
{
	int r;

	for (*node = paths->nodes[parent].child; *node; *node = paths->nodes[*node].next) {
		if (paths->nodes[*node].name == name && paths->nodes[*node].kind == kind)
			return 0;
	}
	r = array_grow(&paths->nodes, paths->nr_nodes, sizeof(*paths->nodes));
	if (r)
		return r;
	*node = paths->nr_nodes++;
	paths->nodes[*node] = (struct path_node){
		.parent = parent, .next = paths->nodes[parent].child, .name = name, .kind = kind
	};
	paths->nodes[parent].child = *node;
	return 0;
}

/* A span's name in `names`. */
static uint32_t name_of(const struct paths *paths, uint32_t name)
{
	const struct names *names = paths->spans->names;

	return names == paths->names ? name : names_add(paths->names, names_get(names, name));
}

/* The chain of an interrupt does not depend on what it interrupts. */
static bool begins_chain(const struct span *span)
{
	return span->kind == SPAN_INTERRUPT || span->kind == SPAN_SOFTIRQ ||
	       span->kind == SPAN_NMI || span->kind == SPAN_EXCEPTION;
}

static int node_of(struct paths *paths, uint32_t i)
{
	const struct lane *code = &paths->spans->lanes[LANE_CODE];
	int r = 0;

	while (!paths->of[i] && !r) {
		uint32_t at = i, parent = 0;

		for (uint32_t depth = 0; depth < DEPTH_MAX; depth++) {
			uint32_t outer = code->spans[at].parent;

			if (outer == SPAN_NONE || begins_chain(&code->spans[at]))
				break;
			parent = paths->of[outer];
			if (parent)
				break;
			at = outer;
		}
		r = find_node(paths, parent, name_of(paths, code->spans[at].name),
			      code->spans[at].kind, &paths->of[at]);
	}
	return r ?: names_error(paths->names);
}

static int find_stay(const struct walk *walk, uint32_t node, struct path_stay **stay)
{
	struct paths *paths = walk->paths;
	uint32_t at = paths->nodes[node].stay;
	int r = 0;

	if (at < walk->first || at >= paths->nr_stays || paths->stays[at].node != node) {
		r = array_grow(&paths->stays, paths->nr_stays, sizeof(*paths->stays));
		if (r)
			return r;
		at = (uint32_t)paths->nr_stays++;
		paths->nodes[node].stay = at;
		paths->stays[at] =
			(struct path_stay){ .node = node, .activation = walk->activation };
	}
	*stay = &paths->stays[at];
	return 0;
}

static int enter(const struct walk *walk, uint32_t node, const struct span *span)
{
	uint64_t ns = span_within(span, walk->begin, walk->end);
	struct path_stay *stay;
	int r = find_stay(walk, node, &stay);

	if (r)
		return r;
	stay->count++;
	stay->self_ns += ns;
	stay->total_ns += ns;
	return 0;
}

/* A caller's own time excludes callees; its total time excludes what interrupted them. */
static int leave_out(const struct walk *walk, const struct span *span)
{
	const struct lane *code = &walk->paths->spans->lanes[LANE_CODE];
	uint64_t ns = span_within(span, walk->begin, walk->end);
	struct path_stay *stay;
	int r = 0;

	for (uint32_t i = span->parent, depth = 0; i != SPAN_NONE && !r && depth < DEPTH_MAX;
	     i = code->spans[i].parent, depth++) {
		r = find_stay(walk, walk->paths->of[i], &stay);
		if (r)
			return r;
		if (!depth)
			stay->self_ns -= ns < stay->self_ns ? ns : stay->self_ns;
		if (!begins_chain(span))
			break;
		stay->total_ns -= ns < stay->total_ns ? ns : stay->total_ns;
		/* Already excluded from what was interrupted. */
		if (begins_chain(&code->spans[i]))
			break;
	}
	return r;
}

/* Tasks are shown by name. */
static int task_node(const struct walk *walk, const struct span *turn, uint32_t *node)
{
	struct names *names = walk->paths->names;
	const char *name = names_get(walk->paths->spans->names, turn->name);
	size_t length = task_name_length(name, NULL);
	_cleanup_free_ char *comm = NULL;
	uint32_t number = name_of(walk->paths, turn->name);

	if (name[length]) {
		comm = strndup(name, length);
		if (!comm)
			return -ENOMEM;
		number = names_add(names, comm);
	}
	return names_error(names) ?: find_node(walk->paths, 0, number, turn->kind, node);
}

static int add_tasks(const struct walk *walk)
{
	const struct lane *tasks = &walk->paths->spans->lanes[LANE_TASKS];
	uint32_t i = lane_at(tasks, walk->begin), node;
	int r = 0;

	if (i == SPAN_NONE)
		i = (uint32_t)ARRAY_COUNT_BEFORE(tasks->nr, n, tasks->spans[n].begin < walk->begin);
	for (; i < tasks->nr && tasks->spans[i].begin < walk->end && !r; i++) {
		r = task_node(walk, &tasks->spans[i], &node);
		if (!r)
			r = enter(walk, node, &tasks->spans[i]);
	}
	return r;
}

/* An interrupt belongs to one turn of a task. */
static int leave_out_of_task(const struct walk *walk, const struct span *span)
{
	const struct lane *tasks = &walk->paths->spans->lanes[LANE_TASKS];
	uint64_t ns = span_within(span, walk->begin, walk->end);
	uint32_t turn = lane_at(tasks, span->begin < walk->begin ? walk->begin : span->begin);
	struct path_stay *stay;
	uint32_t node;
	int r;

	if (turn == SPAN_NONE)
		return 0;
	r = task_node(walk, &tasks->spans[turn], &node);
	if (!r)
		r = find_stay(walk, node, &stay);
	if (r)
		return r;
	stay->self_ns -= ns < stay->self_ns ? ns : stay->self_ns;
	stay->total_ns = stay->self_ns;
	return 0;
}

static int add_span(const struct walk *walk, uint32_t i)
{
	struct paths *paths = walk->paths;
	const struct span *span = &paths->spans->lanes[LANE_CODE].spans[i];
	int r = node_of(paths, i);

	if (!r)
		r = enter(walk, paths->of[i], span);
	if (!r && span->parent != SPAN_NONE)
		return leave_out(walk, span);
	if (!r && !paths->spans->has_functions)
		return leave_out_of_task(walk, span);
	return r;
}

static int add_open(const struct walk *walk)
{
	const struct lane *code = &walk->paths->spans->lanes[LANE_CODE];
	uint32_t open[DEPTH_MAX], nr = 0;
	int r = 0;

	for (uint32_t i = lane_at(code, walk->begin); i != SPAN_NONE && nr < DEPTH_MAX;
	     i = code->spans[i].parent)
		open[nr++] = i;
	while (nr && !r)
		r = add_span(walk, open[--nr]);
	return r;
}

int paths_add(struct paths *paths, uint32_t activation, uint64_t begin, uint64_t end)
{
	const struct lane *code = &paths->spans->lanes[LANE_CODE];
	const struct walk walk = { paths, activation, begin, end, paths->nr_stays };
	uint32_t i = (uint32_t)ARRAY_COUNT_BEFORE(code->nr, n, code->spans[n].begin <= begin);
	int r = 0;

	if (!paths->spans->has_functions)
		r = add_tasks(&walk);
	if (!r)
		r = add_open(&walk);
	for (; i < code->nr && code->spans[i].begin < end && !r; i++)
		r = add_span(&walk, i);
	return r;
}

static int add_time(uint64_t **times, size_t *nr, const struct walk *walk, uint64_t at)
{
	int r;

	if (at < walk->begin || at >= walk->end)
		return 0;
	r = array_grow(times, *nr, sizeof(**times));
	if (!r)
		(*times)[(*nr)++] = at;
	return r;
}

static int add_times(uint64_t **times, size_t *nr, const struct walk *walk, const struct lane *lane)
{
	int r = 0;

	for (uint32_t i = 0; i < lane->nr && lane->spans[i].begin < walk->end && !r; i++) {
		r = add_time(times, nr, walk, lane->spans[i].begin);
		if (!r)
			r = add_time(times, nr, walk, lane->spans[i].end);
	}
	return r;
}

static int compare_times(const void *a, const void *b)
{
	return array_compare(*(const uint64_t *)a, *(const uint64_t *)b);
}

static int node_at(const struct walk *walk, uint64_t at, uint32_t *node)
{
	const struct spans *spans = walk->paths->spans;
	uint32_t i = lane_at(&spans->lanes[LANE_CODE], at);
	int r = 0;

	*node = 0;
	if (i != SPAN_NONE) {
		r = node_of(walk->paths, i);
		*node = walk->paths->of[i];
		return r;
	}
	i = lane_at(&spans->lanes[LANE_TASKS], at);
	if (i != SPAN_NONE && !spans->has_functions)
		r = task_node(walk, &spans->lanes[LANE_TASKS].spans[i], node);
	return r;
}

int paths_pieces(struct paths *paths, uint64_t begin, uint64_t end, struct path_piece **pieces,
		 size_t *nr)
{
	const struct walk walk = { .paths = paths, .begin = begin, .end = end };
	_cleanup_free_ uint64_t *times = NULL;
	size_t nr_times = 0;
	int r = add_time(&times, &nr_times, &walk, begin);

	*nr = 0;
	if (!r)
		r = add_times(&times, &nr_times, &walk, &paths->spans->lanes[LANE_CODE]);
	if (!r)
		r = add_times(&times, &nr_times, &walk, &paths->spans->lanes[LANE_TASKS]);
	*pieces = calloc(nr_times + 1, sizeof(**pieces));
	if (r || !*pieces)
		return -ENOMEM;
	if (nr_times)
		qsort(times, nr_times, sizeof(*times), compare_times);
	for (size_t i = 0; i < nr_times && !r; i++) {
		struct path_piece piece = { .begin = times[i] };

		r = node_at(&walk, times[i], &piece.node);
		if (!*nr || (*pieces)[*nr - 1].node != piece.node)
			(*pieces)[(*nr)++] = piece;
	}
	return r;
}
