// SPDX-License-Identifier: GPL-2.0-only
#include "compare/compare.h"

#include "array.h"

/* Differences below this part of the largest are omitted. */
#define SMALL 100

/* A node in an activation of the reference. */
struct sample {
	uint32_t node;
	uint64_t self_ns, total_ns;
};

struct samples_of {
	struct sample *array;
	size_t nr;
};

static int compare_time_values(const void *a, const void *b)
{
	return array_compare(*(const uint64_t *)a, *(const uint64_t *)b);
}

/* The nearest rank of `nr` times. The first `known` are given in order; all others are 0. */
static uint64_t nearest_rank_of(const uint64_t *times, size_t known, size_t nr, size_t rank)
{
	return rank > nr - known ? times[rank - (nr - known) - 1] : 0;
}

/* Sorts the times. */
static void set_nearest_ranks(struct compared_time *time, uint64_t *times, size_t known, size_t nr)
{
	qsort(times, known, sizeof(*times), compare_time_values);
	time->known = nr != 0;
	time->median_ns = nearest_rank_of(times, known, nr, (nr + 1) / 2);
	time->p99_ns = nearest_rank_of(times, known, nr, (nr * 99 + 99) / 100);
}

/* False: unknown. */
static bool step_of_activation(const struct activation *activation, bool thread,
			       enum comparison_step step, uint64_t *ns)
{
	switch (step) {
	case COMPARISON_EXPIRY:
		*ns = activation->irq - activation->begin;
		return activation->expected && activation->irq >= activation->begin;
	case COMPARISON_HANDLER:
		*ns = activation->handler - activation->irq;
		return activation->irq && activation->handler >= activation->irq;
	case COMPARISON_THREAD:
		*ns = activation->end - activation->handler;
		return thread && activation->handler && activation->end >= activation->handler;
	case COMPARISON_WHOLE:
	case COMPARISON_NR_STEPS:
		break;
	}
	*ns = activation->end - activation->begin;
	return true;
}

static int comparison_make_steps(struct comparison *comparison)
{
	const struct activations *activations = &comparison->activations;
	_cleanup_free_ uint64_t *times = calloc(activations->nr, sizeof(*times));
	const struct compared_time *whole = &comparison->steps[COMPARISON_WHOLE];

	if (!times)
		return -ENOMEM;
	for (enum comparison_step step = 0; step < COMPARISON_NR_STEPS; step++) {
		struct compared_time *time = &comparison->steps[step];
		size_t nr = 0;

		for (size_t i = 0; i < activations->nr; i++)
			nr += step_of_activation(&activations->array[i], activations->thread, step,
						 &times[nr]);
		set_nearest_ranks(time, times, nr, nr);
		time->here_known = step_of_activation(&activations->late, activations->thread, step,
						      &time->here_ns);
	}
	if (whole->here_ns > whole->median_ns)
		comparison->more_ns = whole->here_ns - whole->median_ns;
	return 0;
}

static int add_tree_samples(struct samples_of *samples, const struct call_tree *tree)
{
	int err = 0;

	for (uint32_t i = 1; i < tree->nr && !err; i++) {
		const struct call_node *node = &tree->nodes[i];

		if (!node->count)
			continue;
		err = array_grow(&samples->array, samples->nr, sizeof(*samples->array));
		if (!err)
			samples->array[samples->nr++] =
				(struct sample){ i, node->self_ns, node->total_ns };
	}
	return err;
}

static int compare_samples(const void *a, const void *b)
{
	const struct sample *x = a, *y = b;

	return array_compare(x->node, y->node);
}

/* `times` has room for two of each activation. */
static void make_compared_node(struct compared_node *node, const struct sample *samples,
			       uint64_t *times, size_t nr)
{
	struct compared_time total = {};

	for (size_t i = 0; i < node->seen; i++) {
		times[i] = samples[i].self_ns;
		times[nr + i] = samples[i].total_ns;
	}
	set_nearest_ranks(&node->self, times, node->seen, nr);
	set_nearest_ranks(&total, times + nr, node->seen, nr);
	node->median_total_ns = total.median_ns;
}

/* Returns an array by node, or NULL if out of memory. */
static struct compared_node *make_compared_nodes(const struct call_tree *tree,
						 const struct samples_of *samples, size_t nr)
{
	struct compared_node *nodes = calloc(tree->nr, sizeof(*nodes));
	_cleanup_free_ uint64_t *times = calloc(2 * nr, sizeof(*times));
	size_t first = 0;

	if (!nodes || !times) {
		free(nodes);
		return NULL;
	}
	if (samples->nr)
		qsort(samples->array, samples->nr, sizeof(*samples->array), compare_samples);
	for (uint32_t i = 0; i < tree->nr; i++) {
		struct compared_node *node = &nodes[i];

		node->node = i;
		while (first + node->seen < samples->nr &&
		       samples->array[first + node->seen].node == i)
			node->seen++;
		make_compared_node(node, samples->array + first, times, nr);
		node->self.here_ns = tree->nodes[i].self_ns;
		node->self.here_known = true;
		first += node->seen;
	}
	return nodes;
}

static int comparison_make_tree(struct comparison *comparison, struct call_tree *tree, bool by_name,
				struct compared_node **nodes)
{
	const struct activations *activations = &comparison->activations;
	const struct activation *late = &activations->late;
	const struct spans *here = comparison->here.spans;
	struct samples_of samples = {};
	int err = call_tree_init(tree, here->names, by_name);

	if (!err)
		err = call_tree_use(tree, comparison->against ? comparison->there.spans : here);
	for (size_t i = 0; i < activations->nr && !err; i++) {
		err = call_tree_add(tree, activations->array[i].begin, activations->array[i].end);
		if (!err)
			err = add_tree_samples(&samples, tree);
	}
	if (!err && comparison->against)
		err = call_tree_use(tree, here);
	/* The late activation is the last. */
	if (!err)
		err = call_tree_add(tree, late->begin, late->end);
	if (!err)
		*nodes = make_compared_nodes(tree, &samples, activations->nr);
	free(samples.array);
	return err ?: *nodes ? 0 : -ENOMEM;
}

static uint64_t difference_of(const struct compared_node *node)
{
	const struct compared_time *self = &node->self;

	return self->here_ns > self->median_ns ? self->here_ns - self->median_ns
					       : self->median_ns - self->here_ns;
}

static int compare_differences(const void *a, const void *b)
{
	const struct compared_node *x = a, *y = b;

	return array_compare(difference_of(y), difference_of(x)) ?: array_compare(x->node, y->node);
}

static void sort_differences(struct comparison *comparison)
{
	uint64_t least_ns;

	qsort(comparison->differences, comparison->functions.nr, sizeof(*comparison->differences),
	      compare_differences);
	least_ns = difference_of(&comparison->differences[0]) / SMALL + 1;
	while (comparison->nr_differences < comparison->functions.nr &&
	       difference_of(&comparison->differences[comparison->nr_differences]) >= least_ns)
		comparison->nr_differences++;
}

/* The heaviest chain, from the outermost frame. */
static void comparison_find_most(struct comparison *comparison)
{
	const struct call_node *nodes = comparison->tree.nodes;
	uint32_t heaviest = 0;

	do {
		uint64_t most_ns = 0;

		comparison->most = heaviest;
		heaviest = 0;
		for (uint32_t i = nodes[comparison->most].child; i; i = nodes[i].next) {
			uint64_t there_ns = comparison->nodes[i].median_total_ns;
			uint64_t ns =
				nodes[i].total_ns > there_ns ? nodes[i].total_ns - there_ns : 0;

			if (ns > most_ns && ns >= comparison->more_ns / 2) {
				heaviest = i;
				most_ns = ns;
			}
		}
	} while (heaviest);
}

/* The late activation of the other capture. */
static int find_reference(struct activations *activations, const struct account *there)
{
	struct activations theirs;
	int err = activations_find_late(&theirs, there);

	activations->array = malloc(sizeof(*activations->array));
	if (err || !activations->array)
		return -ENOMEM;
	activations->array[activations->nr++] = theirs.late;
	return 0;
}

int comparison_make(struct comparison *comparison, const struct watched *watched, size_t max)
{
	struct activations *activations = &comparison->activations;
	const struct account *here = &comparison->here;
	int err = activations_find_late(activations, here);

	comparison->against = !watched;
	comparison->same_timer = watched && watched->period_ns;
	if (!err)
		err = watched ? activations_find_normal(activations, here, watched, max)
			      : find_reference(activations, &comparison->there);
	if (err || !comparison_is_enough(comparison))
		return err;
	err = comparison_make_steps(comparison);
	if (!err)
		err = comparison_make_tree(comparison, &comparison->tree, false,
					   &comparison->nodes);
	if (!err)
		err = comparison_make_tree(comparison, &comparison->functions, true,
					   &comparison->differences);
	if (err)
		return err;
	sort_differences(comparison);
	if (comparison->more_ns)
		comparison_find_most(comparison);
	return 0;
}

void comparison_release(struct comparison *comparison)
{
	account_release(&comparison->here);
	account_release(&comparison->there);
	free(comparison->activations.array);
	call_tree_release(&comparison->tree);
	call_tree_release(&comparison->functions);
	free(comparison->nodes);
	free(comparison->differences);
	*comparison = (struct comparison){ 0 };
}
