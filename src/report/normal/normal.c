// SPDX-License-Identifier: GPL-2.0-only
#include "normal/normal.h"

#include <assert.h>
#include <string.h>

#include "array.h"

/* Differences below this share of the additional time are omitted. */
#define SMALL 20

static int compare_times(const void *a, const void *b)
{
	return array_compare(*(const uint64_t *)a, *(const uint64_t *)b);
}

/* Sorts the times. */
static void set_normal(struct normal_time *time, uint64_t *times, size_t nr)
{
	qsort(times, nr, sizeof(*times), compare_times);
	time->normal_known = nr != 0;
	if (!nr)
		return;
	time->median_ns = times[(nr - 1) / 2];
	time->p99_ns = times[(nr * 99 + 99) / 100 - 1];
}

/* False: unknown. */
static bool step_of(const struct activation *activation, bool thread, enum normal_step step,
		    uint64_t *ns)
{
	switch (step) {
	case NORMAL_EXPIRY:
		*ns = activation->irq - activation->begin;
		return activation->expected && activation->irq >= activation->begin;
	case NORMAL_HANDLER:
		*ns = activation->handler - activation->irq;
		return activation->irq && activation->handler >= activation->irq;
	case NORMAL_THREAD:
		*ns = activation->end - activation->handler;
		return thread && activation->handler && activation->end >= activation->handler;
	case NORMAL_WHOLE:
	case NORMAL_NR_STEPS:
		break;
	}
	*ns = activation->end - activation->begin;
	return true;
}

static void make_step(struct normal *normal, enum normal_step step, uint64_t *times)
{
	const struct activations *activations = &normal->activations;
	struct normal_time *time = &normal->steps[step];
	size_t nr = 0;

	for (size_t i = 0; i < activations->nr; i++) {
		if (step_of(&activations->normal[i], activations->thread, step, &times[nr]))
			nr++;
	}
	set_normal(time, times, nr);
	time->here_known = step_of(&activations->late, activations->thread, step, &time->here_ns);
}

static int compare_stays(const void *a, const void *b)
{
	const struct path_stay *x = a, *y = b;

	return array_compare(x->node, y->node) ?: array_compare(x->activation, y->activation);
}

/* A time for each activation; 0 where it is missing. */
struct row_times {
	uint64_t *self, *total, *count;
};

static void begin_row(const struct normal *normal, struct row_times *times)
{
	size_t size = (normal->activations.nr + 1) * sizeof(uint64_t);

	memset(times->self, 0, size);
	memset(times->total, 0, size);
	memset(times->count, 0, size);
}

/* Stays of equal nodes, or of equal names, must be adjacent. */
static void add_stay(struct row_times *times, const struct path_stay *stay)
{
	times->self[stay->activation] += stay->self_ns;
	times->total[stay->activation] += stay->total_ns;
	times->count[stay->activation] += stay->count;
}

static void end_row(const struct normal *normal, struct row_times *times, struct normal_row *row)
{
	size_t nr = normal->activations.nr;
	struct normal_time total = {};

	row->self.here_known = true;
	row->self.here_ns = times->self[nr];
	row->total_ns = times->total[nr];
	row->count = times->count[nr];
	for (size_t i = 0; i < nr; i++)
		row->seen += times->count[i] != 0;
	set_normal(&row->self, times->self, nr);
	set_normal(&total, times->total, nr);
	row->median_total_ns = total.median_ns;
}

static void make_nodes(struct normal *normal, struct row_times *times)
{
	struct paths *paths = &normal->paths;

	qsort(paths->stays, paths->nr_stays, sizeof(*paths->stays), compare_stays);
	for (size_t i = 0; i < paths->nr_stays;) {
		uint32_t node = paths->stays[i].node;
		struct normal_row *row = &normal->nodes[node];

		row->name = paths->nodes[node].name;
		row->kind = paths->nodes[node].kind;
		begin_row(normal, times);
		for (; i < paths->nr_stays && paths->stays[i].node == node; i++)
			add_stay(times, &paths->stays[i]);
		end_row(normal, times, row);
	}
}

static uint64_t more_of(const struct normal_row *row)
{
	const struct normal_time *self = &row->self;

	return self->here_ns > self->median_ns ? self->here_ns - self->median_ns : 0;
}

static int compare_rows(const void *a, const void *b)
{
	const struct normal_row *x = a, *y = b;

	return array_compare(more_of(y), more_of(x)) ?: array_compare(x->name, y->name);
}

static int compare_names(const void *a, const void *b, void *arg)
{
	const struct path_node *nodes = arg;
	const struct path_stay *x = a, *y = b;
	const struct path_node *node_x = &nodes[x->node], *node_y = &nodes[y->node];

	return array_compare(node_x->name, node_y->name)
		       ?: array_compare(node_x->kind, node_y->kind);
}

/* Sums by function, for any caller. */
static int make_longer(struct normal *normal, struct row_times *times)
{
	struct paths *paths = &normal->paths;

	normal->longer = calloc(paths->nr_nodes, sizeof(*normal->longer));
	if (!normal->longer)
		return -ENOMEM;
	qsort_r(paths->stays, paths->nr_stays, sizeof(*paths->stays), compare_names, paths->nodes);
	for (size_t i = 0; i < paths->nr_stays;) {
		const struct path_stay *first = &paths->stays[i];
		struct normal_row *row = &normal->longer[normal->nr_longer];

		*row = (struct normal_row){ .name = paths->nodes[first->node].name,
					    .kind = paths->nodes[first->node].kind };
		begin_row(normal, times);
		for (; i < paths->nr_stays && !compare_names(first, &paths->stays[i], paths->nodes);
		     i++)
			add_stay(times, &paths->stays[i]);
		end_row(normal, times, row);
		normal->nr_longer += more_of(row) != 0;
	}
	qsort(normal->longer, normal->nr_longer, sizeof(*normal->longer), compare_rows);
	return 0;
}

static bool is_much(const struct normal *normal, uint64_t ns)
{
	return ns && ns >= normal->more_ns / SMALL;
}

/* Time of a node so far, beyond that of normal activations. */
static uint64_t over_of(const struct normal_row *row, uint64_t spent_ns)
{
	uint64_t usual_ns = row->seen ? row->self.p99_ns : 0;

	return spent_ns > usual_ns ? spent_ns - usual_ns : 0;
}

/* The first piece in which a node took longer than in nearly all normal activations. */
static int find_parting(struct normal *normal)
{
	const struct activation *late = &normal->activations.late;
	uint32_t nr_nodes = normal->paths.nr_nodes;
	_cleanup_free_ uint64_t *spent = calloc(nr_nodes, sizeof(*spent));
	_cleanup_free_ struct path_piece *pieces = NULL;
	size_t nr;
	int r;

	if (!spent)
		return -ENOMEM;
	r = paths_pieces(&normal->paths, late->begin, late->end, &pieces, &nr);
	for (size_t i = 0; i < nr && !r; i++) {
		/* Omitted frames would be new nodes. */
		uint32_t node = pieces[i].node < nr_nodes ? pieces[i].node : 0;

		spent[node] += (i + 1 < nr ? pieces[i + 1].begin : late->end) - pieces[i].begin;
		if (!node || !is_much(normal, over_of(&normal->nodes[node], spent[node])))
			continue;
		normal->parts = node;
		normal->parts_ns = pieces[i].begin;
		normal->after = i && pieces[i - 1].node < nr_nodes ? pieces[i - 1].node : 0;
		break;
	}
	return r;
}

/* The heaviest chain, from the outermost frame. */
static void find_most(struct normal *normal)
{
	const struct path_node *nodes = normal->paths.nodes;
	uint32_t at = 0, heaviest;

	do {
		uint64_t most_ns = 0;

		heaviest = 0;
		for (uint32_t node = nodes[at].child; node; node = nodes[node].next) {
			const struct normal_row *row = &normal->nodes[node];
			uint64_t ns = row->total_ns > row->median_total_ns
					      ? row->total_ns - row->median_total_ns
					      : 0;

			if (ns > most_ns && ns >= normal->more_ns / 2) {
				heaviest = node;
				most_ns = ns;
			}
		}
		if (heaviest)
			at = heaviest;
	} while (heaviest);
	normal->most = at;
}

static int add_paths(struct normal *normal)
{
	const struct activations *activations = &normal->activations;
	const struct activation *late = &activations->late;
	const struct spans *spans = normal->account->spans;
	int r = paths_init(&normal->paths, spans);

	if (!r && normal->there)
		r = paths_use(&normal->paths, normal->there->spans);
	for (size_t i = 0; i < activations->nr && !r; i++)
		r = paths_add(&normal->paths, (uint32_t)i, activations->normal[i].begin,
			      activations->normal[i].end);
	if (!r && normal->there)
		r = paths_use(&normal->paths, spans);
	return r ?: paths_add(&normal->paths, (uint32_t)activations->nr, late->begin, late->end);
}

static int make_rows(struct normal *normal)
{
	size_t room = normal->activations.nr + 1;
	_cleanup_free_ uint64_t *self = calloc(room, sizeof(*self));
	_cleanup_free_ uint64_t *total = calloc(room, sizeof(*total));
	_cleanup_free_ uint64_t *count = calloc(room, sizeof(*count));
	struct row_times times = { self, total, count };

	normal->nodes = calloc(normal->paths.nr_nodes, sizeof(*normal->nodes));
	if (!self || !total || !count || !normal->nodes)
		return -ENOMEM;
	for (int step = 0; step < NORMAL_NR_STEPS; step++)
		make_step(normal, (enum normal_step)step, self);
	if (normal->steps[NORMAL_WHOLE].here_ns > normal->steps[NORMAL_WHOLE].median_ns)
		normal->more_ns =
			normal->steps[NORMAL_WHOLE].here_ns - normal->steps[NORMAL_WHOLE].median_ns;
	if (!normal->paths.nr_stays)
		return 0;
	make_nodes(normal, &times);
	return make_longer(normal, &times);
}

static int compare(struct normal *normal)
{
	int r;

	if (!normal_is_enough(normal))
		return 0;
	r = add_paths(normal);
	if (!r)
		r = make_rows(normal);
	if (r || !normal->more_ns)
		return r;
	find_most(normal);
	return find_parting(normal);
}

int normal_make(struct normal *normal, const struct account *account, const struct timer *timer,
		size_t max)
{
	int r;

	*normal = (struct normal){
		.account = account,
		.same_timer = !timer->any && (timer->expiries || timer->period_ns),
		.any_timer = timer->any,
		.span = timer->ends,
	};
	r = activations_find(&normal->activations, account->spans, &account->facts, timer, max);
	if (!r)
		r = compare(normal);
	if (r)
		normal_release(normal);
	return r;
}

int normal_make_against(struct normal *normal, const struct account *account,
			const struct timer *timer, struct normal *theirs)
{
	int r;

	*normal = (struct normal){
		.account = account,
		.there = theirs->account,
		.same_timer = theirs->same_timer,
		.any_timer = theirs->any_timer,
		.span = theirs->span,
	};
	r = activations_find(&normal->activations, account->spans, &account->facts, timer, 0);
	if (!r) {
		free(normal->activations.normal);
		normal->activations.normal = TAKE_PTR(theirs->activations.normal);
		normal->activations.nr = theirs->activations.nr;
		theirs->activations.nr = 0;
		r = compare(normal);
	}
	if (r)
		normal_release(normal);
	return r;
}

void normal_release(struct normal *normal)
{
	activations_release(&normal->activations);
	paths_release(&normal->paths);
	free(normal->nodes);
	free(normal->longer);
	*normal = (struct normal){ 0 };
}

const char *normal_stack_name(const struct normal *normal)
{
	const struct cause *cause = &normal->account->cause;
	const struct facts *facts = &normal->account->facts;
	const struct fingerprint *fingerprint = &normal->account->fingerprint;

	if (normal->account->spans->has_functions || facts->reported)
		return NULL;
	if (cause->kind != CAUSE_IRQS_OFF && cause->kind != CAUSE_THREAD)
		return NULL;
	if (!fingerprint->nr || fingerprint->frames[0][0] == '[' ||
	    !strncmp(fingerprint->frames[0], FINGERPRINT_TASK, strlen(FINGERPRINT_TASK)))
		return NULL;
	return fingerprint->frames[0];
}

const char *normal_step_name(enum normal_step step)
{
	static const char *const names[] = {
		[NORMAL_EXPIRY] = "expiry to interrupt",
		[NORMAL_HANDLER] = "interrupt to timer's function",
		[NORMAL_THREAD] = "timer's function to thread",
		[NORMAL_WHOLE] = "all of it",
	};

	static_assert(ARRAY_SIZE(names) == NORMAL_NR_STEPS, "a name for each");
	return names[step];
}
