// SPDX-License-Identifier: GPL-2.0-only
#include "account/difference.h"

#include <string.h>

#include "array.h"

/* So many equal calls in a row are hardly a coincidence. Without such a run, a shorter one will
 * do. */
#define ALIKE 3

/* The calls in a window by name. Both captures share `names`. */
struct calls {
	const struct lane *code;
	uint32_t *spans, *names;
	uint32_t nr;
};

static void calls_release(struct calls *calls)
{
	free(calls->spans);
	free(calls->names);
}

/* Skips calls that began before the window. */
static int calls_make(struct calls *calls, const struct account *account, struct names *names)
{
	const struct findings *findings = &account->findings;
	const struct lane *code = &account->spans->lanes[LANE_CODE];

	*calls = (struct calls){ .code = code };
	calls->spans = malloc((code->nr + 1) * sizeof(*calls->spans));
	calls->names = malloc((code->nr + 1) * sizeof(*calls->names));
	if (!calls->spans || !calls->names)
		return -ENOMEM;
	for (uint32_t i = 0; i < code->nr; i++) {
		const struct span *span = &code->spans[i];

		if (span->begin <= findings->begin || span->begin > findings->end)
			continue;
		calls->spans[calls->nr] = i;
		calls->names[calls->nr++] =
			names_add(names, names_get(account->spans->names, span->name));
	}
	return names_error(names);
}

static uint32_t hash_of(const struct calls *calls, uint32_t at, uint32_t alike)
{
	uint32_t hash = 2166136261u;

	for (uint32_t i = 0; i < alike; i++)
		hash = (hash ^ calls->names[at + i]) * 16777619u;
	return hash ^ hash >> 15;
}

static bool is_alike(const struct calls *a, uint32_t i, const struct calls *b, uint32_t j,
		     uint32_t alike)
{
	return !memcmp(a->names + i, b->names + j, alike * sizeof(*a->names));
}

/* Finds the first run of calls in both. False: none. */
static bool find_alike(const struct calls *a, const struct calls *b, uint32_t alike,
		       uint32_t *slots, uint32_t mask, uint32_t *i, uint32_t *j)
{
	for (uint32_t at = 0; at + alike <= b->nr; at++) {
		uint32_t slot = hash_of(b, at, alike) & mask;

		while (slots[slot] && !is_alike(b, slots[slot] - 1, b, at, alike))
			slot = (slot + 1) & mask;
		if (!slots[slot])
			slots[slot] = at + 1;
	}
	for (*i = 0; *i + alike <= a->nr; ++*i) {
		uint32_t slot = hash_of(a, *i, alike) & mask;

		while (slots[slot] && !is_alike(b, slots[slot] - 1, a, *i, alike))
			slot = (slot + 1) & mask;
		if (slots[slot]) {
			*j = slots[slot] - 1;
			return true;
		}
	}
	return false;
}

/* Whether function and relative depth are the same. */
static bool is_same(const struct calls *a, uint32_t i, const struct calls *b, uint32_t j,
		    uint32_t first_i, uint32_t first_j)
{
	int depth_a = a->code->spans[a->spans[i]].depth - a->code->spans[a->spans[first_i]].depth;
	int depth_b = b->code->spans[b->spans[j]].depth - b->code->spans[b->spans[first_j]].depth;

	return a->names[i] == b->names[j] && depth_a == depth_b;
}

static int find_parting(struct parting *parting, const struct calls *a, const struct calls *b)
{
	uint32_t alike = ALIKE;
	_cleanup_free_ uint32_t *slots = NULL;
	uint32_t mask = 1, i = 0, j = 0, nr = 0;

	*parting = (struct parting){ .then_here = SPAN_NONE, .then_there = SPAN_NONE };
	while (mask < 2 * b->nr + 2)
		mask = 2 * mask + 1;
	slots = calloc((size_t)mask + 1, sizeof(*slots));
	if (!slots)
		return -ENOMEM;
	while (alike && !find_alike(a, b, alike, slots, mask, &i, &j)) {
		memset(slots, 0, ((size_t)mask + 1) * sizeof(*slots));
		alike--;
	}
	if (!alike)
		return 0;
	while (i + nr < a->nr && j + nr < b->nr && is_same(a, i + nr, b, j + nr, i, j))
		nr++;
	parting->same = nr;
	parting->here = a->spans[i];
	parting->there = b->spans[j];
	if (i + nr < a->nr)
		parting->then_here = a->spans[i + nr];
	if (j + nr < b->nr)
		parting->then_there = b->spans[j + nr];
	return 0;
}

static uint64_t size_of(const struct longer *longer)
{
	return longer->here_ns > longer->there_ns ? longer->here_ns - longer->there_ns
						  : longer->there_ns - longer->here_ns;
}

static int compare(const void *a, const void *b)
{
	uint64_t x = size_of(a), y = size_of(b);

	return array_compare(y, x)
		       ?: strcmp(((const struct longer *)a)->name,
				 ((const struct longer *)b)->name);
}

/* By kind and name. */
static int compare_names(const void *a, const void *b)
{
	const struct longer *x = a, *y = b;

	return array_compare(x->kind, y->kind) ?: strcmp(x->name, y->name);
}

/* Compares functions if they are known, otherwise interrupts and tasks. */
static void add_times(struct difference *difference, const struct account *account, bool here)
{
	const struct findings *findings = &account->findings;
	bool functions = account->spans->has_functions;
	size_t nr = functions ? findings->nr_functions : findings->nr_budget;

	for (size_t i = 0; i < nr; i++) {
		uint64_t time_ns =
			functions ? findings->functions[i].self_ns : findings->budget[i].time_ns;
		uint32_t name = functions ? findings->functions[i].name : findings->budget[i].name;

		difference->longer[difference->nr_longer++] = (struct longer){
			.name = names_get(account->spans->names, name),
			.kind = functions ? SPAN_FUNCTION : findings->budget[i].kind,
			.here_ns = here ? time_ns : 0,
			.there_ns = here ? 0 : time_ns,
		};
	}
}

static int find_longer(struct difference *difference, const struct account *here,
		       const struct account *there)
{
	size_t most = here->findings.nr_functions + here->findings.nr_budget +
		      there->findings.nr_functions + there->findings.nr_budget;
	struct longer *longer = calloc(most + 1, sizeof(*longer));
	size_t nr = 0;

	if (!longer)
		return -ENOMEM;
	difference->longer = longer;
	add_times(difference, here, true);
	add_times(difference, there, false);
	qsort(longer, difference->nr_longer, sizeof(*longer), compare_names);
	for (size_t i = 0; i < difference->nr_longer; i++) {
		if (nr && !compare_names(&longer[nr - 1], &longer[i])) {
			longer[nr - 1].here_ns += longer[i].here_ns;
			longer[nr - 1].there_ns += longer[i].there_ns;
		} else {
			longer[nr++] = longer[i];
		}
	}
	difference->nr_longer = nr;
	qsort(longer, nr, sizeof(*longer), compare);
	while (difference->nr_longer && !size_of(&longer[difference->nr_longer - 1]))
		difference->nr_longer--;
	return 0;
}

static void names_freep(struct names **names)
{
	names_free(*names);
}

int difference_make(struct difference *difference, const struct account *here,
		    const struct account *there)
{
	_cleanup_(names_freep) struct names *names = NULL;
	struct calls a = { 0 }, b = { 0 };
	int r = names_new(&names);

	*difference = (struct difference){ 0 };
	if (r)
		return r;
	r = calls_make(&a, here, names);
	if (!r)
		r = calls_make(&b, there, names);
	if (!r)
		r = find_parting(&difference->parting, &a, &b);
	if (!r)
		r = find_longer(difference, here, there);
	calls_release(&a);
	calls_release(&b);
	if (r)
		difference_release(difference);
	return r;
}

void difference_release(struct difference *difference)
{
	free(difference->longer);
	*difference = (struct difference){ 0 };
}
