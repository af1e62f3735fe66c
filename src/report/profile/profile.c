// SPDX-License-Identifier: GPL-2.0-only
#include "profile/profile.h"

#include "affix.h"
#include "array.h"
#include "compare/call_tree.h"
#include "task.h"

struct make {
	struct profile *profile;
	const struct account *account;
	const struct findings *findings;
	const struct facts *facts;
	uint64_t begin, end;
	bool late; /* only the latency, not the whole report */
};

void profile_release(struct profile *profile)
{
	free(profile->nodes);
	free(profile->senders.rows);
	free(profile->tasks.rows);
	*profile = (struct profile){ 0 };
}

void profile_totals(const struct profile *profile, uint64_t *totals)
{
	for (uint32_t i = 0; i < profile->nr_nodes; i++)
		totals[i] = profile->nodes[i].self_ns;
	for (uint32_t i = profile->nr_nodes; i-- > 1;)
		totals[profile->nodes[i].parent] += totals[i];
}

static int find_node(struct profile *profile, uint32_t parent, const char *name, uint32_t *node)
{
	struct profile_node *nodes = profile->nodes;
	int r;

	for (*node = nodes[parent].child; *node; *node = nodes[*node].next) {
		if (!strcmp(nodes[*node].name, name))
			return 0;
	}
	r = array_grow(&profile->nodes, profile->nr_nodes, sizeof(*profile->nodes));
	if (r)
		return r;
	nodes = profile->nodes;
	*node = profile->nr_nodes++;
	nodes[*node] = (struct profile_node){ .parent = parent, .next = nodes[parent].child };
	nodes[parent].child = *node;
	snprintf(nodes[*node].name, FINGERPRINT_NAME_SIZE, "%s", name);
	return 0;
}

static int add_row(struct profile_rows *to, const char *name, uint64_t ns)
{
	int r;

	for (size_t i = 0; i < to->nr; i++) {
		if (!strcmp(to->rows[i].name, name)) {
			to->rows[i].ns += ns;
			return 0;
		}
	}
	r = array_grow(&to->rows, to->nr, sizeof(*to->rows));
	if (r)
		return r;
	to->rows[to->nr] = (struct profile_row){ .ns = ns };
	snprintf(to->rows[to->nr++].name, FINGERPRINT_NAME_SIZE, "%s", name);
	return 0;
}

static void name_task(char *buf, const char *name, bool idle)
{
	char comm[64];

	snprintf(comm, sizeof(comm), "%.*s", (int)task_name_length(name, NULL), name);
	fingerprint_task(buf, idle ? "idle" : comm);
}

/* False for a placeholder such as [not traced], and for an address. */
static bool name_function(char *buf, const char *name)
{
	if (*name == '[' || *name == '?' || has_prefix(name, "0x"))
		return false;
	fingerprint_function(buf, name);
	return *buf;
}

static bool name_node(char *buf, const struct make *make, enum span_kind kind, const char *name)
{
	char task[FINGERPRINT_NAME_SIZE];

	switch (kind) {
	case SPAN_INTERRUPT:
	case SPAN_SOFTIRQ:
	case SPAN_NMI:
	case SPAN_EXCEPTION:
		fingerprint_entry(buf, name);
		return true;
	case SPAN_IDLE:
	case SPAN_THREAD:
		if (make->account->spans->has_functions)
			return name_function(buf, name);
		name_task(task, name, kind == SPAN_IDLE);
		snprintf(buf, FINGERPRINT_NAME_SIZE, FINGERPRINT_TASK "%.*s",
			 (int)(FINGERPRINT_NAME_SIZE - sizeof(FINGERPRINT_TASK)), task);
		return true;
	default:
		return name_function(buf, name);
	}
}

/* Adds the frames from the outermost one to this one. */
static int add_chain(const struct make *make, const struct spike_stack *stack, size_t frame,
		     uint32_t *node)
{
	char name[FINGERPRINT_NAME_SIZE];
	int r = 0;

	*node = 0;
	for (size_t i = stack->nr; i-- > frame && !r;) {
		if (stack->frames[i].function && name_function(name, stack->frames[i].name))
			r = find_node(make->profile, *node, name, node);
	}
	return r;
}

/* Callers from before the trace are on the stack at the spike. */
static int find_caller(const struct make *make, const char *name, uint32_t *node)
{
	const struct spike_stack *stack = &make->facts->stack;
	size_t at =
		make->account->spans->has_functions ? spike_stack_find(stack, name) : STACK_NONE;

	*node = 0;
	return at == STACK_NONE ? 0 : add_chain(make, stack, at + 1, node);
}

/* `of` has the nodes of the callers, which precede it. */
static int take_node(const struct make *make, const struct call_tree *paths, uint32_t number,
		     uint32_t *of)
{
	const struct call_node *node = &paths->nodes[number];
	const char *name = findings_name(make->findings, node->name);
	char token[FINGERPRINT_NAME_SIZE];
	uint32_t parent = of[node->parent];
	int r = 0;

	if (!node->parent && (node->kind == SPAN_FUNCTION || node->kind == SPAN_SYSCALL))
		r = find_caller(make, name, &parent);
	of[number] = parent;
	if (r || !name_node(token, make, (enum span_kind)node->kind, name))
		return r;
	return find_node(make->profile, parent, token, &of[number]);
}

static int add_paths(const struct make *make)
{
	_cleanup_(call_tree_release) struct call_tree tree;
	_cleanup_free_ uint32_t *of = NULL;
	int r = call_tree_init(&tree, make->account->spans->names, false);

	if (!r)
		r = call_tree_use(&tree, make->account->spans);
	if (!r)
		r = call_tree_add(&tree, make->begin, make->end);
	of = calloc(tree.nr, sizeof(*of));
	if (!of)
		return -ENOMEM;
	for (uint32_t i = 1; i < tree.nr && !r; i++) {
		r = take_node(make, &tree, i, of);
		make->profile->nodes[of[i]].self_ns += tree.nodes[i].self_ns;
	}
	return r;
}

/* Moves time to a node from the task with the most time: its functions are known now. */
static void move_time(const struct make *make, uint32_t node, uint64_t ns)
{
	struct profile_node *nodes = make->profile->nodes, *most = NULL;

	nodes[node].self_ns += ns;
	for (uint32_t i = nodes[0].child; i; i = nodes[i].next) {
		if (profile_is_task(nodes[i].name) && (!most || nodes[i].self_ns > most->self_ns))
			most = &nodes[i];
	}
	if (most)
		most->self_ns -= ns < most->self_ns ? ns : most->self_ns;
}

static int add_sample(const struct make *make, const struct sampled *sample, uint64_t ns)
{
	const struct samples *samples = &make->account->spans->samples;
	char name[FINGERPRINT_NAME_SIZE];
	uint32_t node = 0;
	int r = 0;

	for (uint32_t i = sample->nr; i-- && !r;) {
		if (name_function(name, findings_name(make->findings,
						      samples->frames[sample->first + i])))
			r = find_node(make->profile, node, name, &node);
	}
	if (!r && node)
		move_time(make, node, ns);
	return r;
}

/* Each sample counts for an equal part. */
static int add_samples(const struct make *make, size_t *nr)
{
	const struct samples *samples = &make->account->spans->samples;
	size_t first = ARRAY_COUNT_BEFORE(samples->nr, i, samples->list[i].at < make->begin);
	size_t end = ARRAY_COUNT_BEFORE(samples->nr, i, samples->list[i].at <= make->end);
	int r = 0;

	*nr = end > first ? end - first : 0;
	for (size_t i = first; i < end && !r; i++)
		r = add_sample(make, &samples->list[i], (make->end - make->begin) / *nr);
	return r;
}

/* Time for which the code at this frame delayed the timer, according to the cause. */
static uint64_t stack_ns(const struct make *make, const struct spike_stack *stack, size_t *frame)
{
	const struct cause *cause = &make->account->cause;
	const struct facts *facts = make->facts;

	if (stack == cause_switched(cause, make->findings, facts)) {
		*frame = cause_went_on(cause, make->findings, facts) ? STACK_NONE
								     : spike_stack_switched(stack);
		return cause->time_ns;
	}
	*frame = stack == &facts->stack ? cause->frame : STACK_NONE;
	if (*frame != STACK_NONE)
		return cause->time_ns;
	if (facts->thread || facts_have_trace(facts) || stack != &facts->stack)
		return 0;
	*frame = spike_stack_culprit(stack);
	return facts->latency_ns;
}

/* All frames of the stack were present. */
static int add_stack(const struct make *make, const struct spike_stack *stack, bool timed)
{
	size_t frame;
	uint64_t ns = stack_ns(make, stack, &frame);
	uint32_t node;
	int r = add_chain(make, stack, 0, &node);

	if (r || !timed || frame == STACK_NONE)
		return r;
	r = add_chain(make, stack, frame, &node);
	if (!r && node)
		move_time(make, node, ns);
	return r;
}

static int add_tasks(const struct make *make)
{
	const struct facts *facts = make->facts;
	const struct findings *findings = make->findings;
	struct profile_rows *tasks = &make->profile->tasks;
	char name[FINGERPRINT_NAME_SIZE];
	int r = 0;

	for (size_t i = 0; i < findings->nr_budget && !r; i++) {
		const struct usage *usage = &findings->budget[i];
		uint64_t ns = make->late ? usage->late_ns : usage->time_ns;

		if ((usage->kind != SPAN_THREAD && usage->kind != SPAN_IDLE) || !ns)
			continue;
		name_task(name, findings_name(findings, usage->name), usage->kind == SPAN_IDLE);
		r = add_row(tasks, name, ns);
	}
	if (r || facts->thread || !(facts->idle || facts->comm[0]))
		return r;
	/* The interrupted task was present, too. */
	name_task(name, facts->comm, facts->idle);
	return add_row(tasks, name, 0);
}

/* What was sent to the CPU: its first run, within the window. */
struct sent {
	char name[FINGERPRINT_NAME_SIZE]; /* of who sent it */
	uint32_t interrupt;		  /* that ran it, or itself */
	uint64_t ns;
};

static uint32_t interrupt_around(const struct lane *code, uint32_t span)
{
	for (uint32_t i = span; i != SPAN_NONE; i = code->spans[i].parent) {
		if (code->spans[i].kind == SPAN_INTERRUPT)
			return i;
	}
	return span;
}

static void find_run(const struct make *make, const struct sender *sender, struct sent *sent)
{
	const struct lane *code = findings_code(make->findings);
	uint32_t i = (uint32_t)ARRAY_COUNT_BEFORE(code->nr, n, code->spans[n].begin < sender->time);
	char entry[FINGERPRINT_NAME_SIZE];

	sent->interrupt = SPAN_NONE;
	for (; i < code->nr && code->spans[i].begin < make->end; i++) {
		const char *name = findings_name(make->findings, code->spans[i].name);

		if (sender->function[0] && strcmp(name, sender->function))
			continue;
		fingerprint_entry(entry, name);
		if (!sender->function[0] && strcmp(entry, "[reschedule]") &&
		    strcmp(entry, "[irq_work]") && !has_prefix(entry, "[call_function"))
			continue;
		sent->interrupt = interrupt_around(code, i);
		sent->ns = span_within(&code->spans[i], make->begin, make->end);
		return;
	}
}

/* The kernel tells of an interrupt and of the function that it is to call. */
static bool is_told(struct sent *all, size_t nr, const struct sent *sent)
{
	for (size_t i = 0; i < nr; i++) {
		if (sent->interrupt == SPAN_NONE || all[i].interrupt != sent->interrupt ||
		    strcmp(all[i].name, sent->name))
			continue;
		if (sent->ns > all[i].ns)
			all[i].ns = sent->ns;
		return true;
	}
	return false;
}

static int add_senders(const struct make *make)
{
	const struct senders *senders = make->facts->senders;
	struct sent all[SENDERS_MAX];
	size_t nr = 0;
	int r = 0;

	for (size_t i = 0; senders && i < SENDERS_MAX && i < senders->nr; i++) {
		const struct sender *sender = &senders->rows[i];
		struct sent sent = { .ns = 0 };

		find_run(make, sender, &sent);
		if (sender->time > make->end || (sender->time < make->begin && !sent.ns))
			continue;
		if (sender->nr_callers)
			fingerprint_function(sent.name, sender->callers[0]);
		else
			name_task(sent.name, sender->task, sender->tid <= 0);
		if (sent.name[0] && !is_told(all, nr, &sent))
			all[nr++] = sent;
	}
	for (size_t i = 0; i < nr && !r; i++)
		r = add_row(&make->profile->senders, all[i].name, all[i].ns);
	return r;
}

static int compare_rows(const void *a, const void *b)
{
	const struct profile_row *x = a, *y = b;

	return array_compare(y->ns, x->ns) ?: strcmp(x->name, y->name);
}

static void trim_rows(struct profile_rows *rows, uint64_t window_ns)
{
	if (rows->nr)
		qsort(rows->rows, rows->nr, sizeof(*rows->rows), compare_rows);
	if (rows->nr > PROFILE_ROWS_MAX)
		rows->nr = PROFILE_ROWS_MAX;
	for (size_t i = 0; i < rows->nr; i++) {
		if (rows->rows[i].ns > window_ns)
			rows->rows[i].ns = window_ns;
	}
}

struct ranked_node {
	uint64_t total_ns;
	uint32_t node;
};

static int compare_nodes(const void *a, const void *b)
{
	const struct ranked_node *x = a, *y = b;

	return array_compare(y->total_ns, x->total_ns) ?: array_compare(x->node, y->node);
}

/* Callers have at least the time of their callees, and precede them: no node is left without its
 * caller. */
static int trim_nodes(struct profile *profile)
{
	_cleanup_free_ struct ranked_node *ranked = calloc(profile->nr_nodes, sizeof(*ranked));
	_cleanup_free_ uint64_t *totals = calloc(profile->nr_nodes, sizeof(*totals));
	_cleanup_free_ uint32_t *to = calloc(profile->nr_nodes, sizeof(*to));
	uint32_t nr = 1;

	if (!ranked || !totals || !to)
		return -ENOMEM;
	profile_totals(profile, totals);
	for (uint32_t i = 0; i < profile->nr_nodes; i++)
		ranked[i] = (struct ranked_node){ totals[i], i };
	qsort(ranked + 1, profile->nr_nodes - 1, sizeof(*ranked), compare_nodes);
	for (uint32_t i = 1; i < profile->nr_nodes && i < PROFILE_NODES_MAX; i++)
		to[ranked[i].node] = 1;
	for (uint32_t i = 1; i < profile->nr_nodes; i++) {
		struct profile_node node = profile->nodes[i];

		node.parent = to[node.parent];
		if (!to[i]) {
			to[i] = node.parent;
			profile->nodes[node.parent].self_ns += node.self_ns;
			continue;
		}
		node.child = node.next = 0;
		to[i] = nr;
		profile->nodes[nr++] = node;
	}
	profile->nr_nodes = nr;
	for (uint32_t i = 0; i < nr; i++) {
		if (profile->nodes[i].self_ns > profile->window_ns)
			profile->nodes[i].self_ns = profile->window_ns;
	}
	return 0;
}

static int fill(const struct make *make)
{
	struct profile *profile = make->profile;
	size_t samples = 0;
	int r = 0;

	profile->nodes = calloc(1, sizeof(*profile->nodes));
	if (!profile->nodes)
		return -ENOMEM;
	profile->nr_nodes = 1;
	if (facts_have_times(make->facts) && make->end > make->begin) {
		r = add_paths(make);
		if (!r)
			r = add_samples(make, &samples);
		if (!r)
			r = add_senders(make);
	}
	if (!r && !make->account->spans->has_functions) {
		r = add_stack(make, &make->facts->holder, !samples);
		if (!r)
			r = add_stack(make, &make->facts->stack, !samples);
	}
	if (!r)
		r = add_tasks(make);
	return r ?: trim_nodes(profile);
}

int profile_make(struct profile *profile, const struct account *account)
{
	const struct findings *findings = &account->findings;
	const struct facts *facts = &account->facts;
	bool late = !facts->control && findings->late_begin < findings->late_end;
	const struct make make = {
		.profile = profile,
		.account = account,
		.findings = findings,
		.facts = facts,
		.begin = late ? findings->late_begin : findings->begin,
		.end = late ? findings->late_end : findings->end,
		.late = late,
	};
	int r;

	*profile = (struct profile){ 0 };
	profile->window_ns = facts_have_times(facts) ? make.end - make.begin
			     : facts->control	     ? account->window_ns
						     : facts->latency_ns;
	r = fill(&make);
	if (r) {
		profile_release(profile);
		return r;
	}
	trim_rows(&profile->senders, profile->window_ns);
	trim_rows(&profile->tasks, profile->window_ns);
	return 0;
}
