// SPDX-License-Identifier: GPL-2.0-only
#include "causes/ranking.h"

#include "array.h"

/* The score of calling every capture a spike: lower scores mean nothing. */
#define F1_NOTHING (2.0 / 3.0)
/* A time limit always fits the given captures better than presence alone; it must be better by
 * this. */
#define F1_LIMIT_MORE 0.05

/* Sums of the current capture, by number. */
struct scratch {
	uint64_t *totals; /* by place */
	struct sum {
		uint64_t ns;
		bool there;
	} * sums;	    /* by feature */
	uint32_t *features; /* features that it has */
	size_t nr;
};

static int scratch_init(struct scratch *scratch, const struct profiles *profiles)
{
	uint32_t features = names_count(profiles->names);

	*scratch = (struct scratch){
		.totals = calloc(profiles->nr_places, sizeof(*scratch->totals)),
		.sums = calloc(features, sizeof(*scratch->sums)),
		.features = calloc(features, sizeof(*scratch->features)),
	};
	return scratch->totals && scratch->sums && scratch->features ? 0 : -ENOMEM;
}

static void scratch_release(struct scratch *scratch)
{
	free(scratch->totals);
	free(scratch->sums);
	free(scratch->features);
}

static void add_sum(struct scratch *scratch, const struct place *place, uint64_t ns)
{
	struct sum *sum = &scratch->sums[place->feature];

	if (!sum->there)
		scratch->features[scratch->nr++] = place->feature;
	sum->there = true;
	/* The time of a recursive function counts once. */
	if (!place->again)
		sum->ns += ns;
}

static int take_sums(struct havings *havings, struct scratch *scratch)
{
	if (havings->room - havings->nr < scratch->nr) {
		size_t room = 2 * (havings->nr + scratch->nr);
		struct having *grown = reallocarray(havings->list, room, sizeof(*grown));

		if (!grown)
			return -ENOMEM;
		havings->list = grown;
		havings->room = room;
	}
	for (size_t i = 0; i < scratch->nr; i++) {
		struct sum *sum = &scratch->sums[scratch->features[i]];

		havings->list[havings->nr++] = (struct having){ scratch->features[i], sum->ns };
		*sum = (struct sum){ 0 };
	}
	scratch->nr = 0;
	return 0;
}

static int add_capture(struct havings *havings, struct scratch *scratch,
		       const struct profiles *profiles, const struct profiled *profiled)
{
	const struct stay *stays = &profiles->stays[profiled->first];

	havings->captures++;
	for (size_t i = 0; i < profiled->nr; i++)
		scratch->totals[stays[i].place] = stays[i].self_ns;
	for (size_t i = profiled->nr; i--;)
		scratch->totals[profiles->places[stays[i].place].parent] +=
			scratch->totals[stays[i].place];
	for (size_t i = 0; i < profiled->nr; i++)
		add_sum(scratch, &profiles->places[stays[i].place],
			scratch->totals[stays[i].place]);
	return take_sums(havings, scratch);
}

static int compare_havings(const void *a, const void *b)
{
	const struct having *x = a, *y = b;

	return array_compare(x->feature, y->feature) ?: array_compare(y->ns, x->ns);
}

/* group: of spikes. */
static int collect(struct havings *havings, const struct causes *causes, size_t group, bool control)
{
	const struct profiles *profiles = &causes->profiles;
	_cleanup_(scratch_release) struct scratch scratch = { 0 };
	int r = scratch_init(&scratch, profiles);

	for (size_t i = 0; i < profiles->nr && !r; i++) {
		const struct profiled *profiled = &profiles->list[i];
		size_t sighting = profiled->sighting;

		if ((sighting == PROFILES_CONTROL) != control ||
		    (!control && group != RANKING_ALL &&
		     causes->seen[causes->sightings[sighting].kind].group != group))
			continue;
		r = add_capture(havings, &scratch, profiles, profiled);
	}
	if (!r && havings->nr)
		qsort(havings->list, havings->nr, sizeof(*havings->list), compare_havings);
	return r;
}

/* Weighted as if spikes and controls were equally many. */
static double score(size_t spikes, size_t controls, const struct ranking *of)
{
	double recall = (double)spikes / (double)of->spikes;
	double wrong = (double)controls / (double)of->controls;

	return 2 * recall / (recall + wrong + 1);
}

/* Both rows are of one feature. */
static void judge(struct ranked *ranked, const struct having *spikes, const struct having *controls,
		  const struct ranking *of)
{
	double best;
	size_t longer = 0;

	ranked->f1 = score(ranked->spikes, ranked->controls, of);
	best = ranked->f1 + F1_LIMIT_MORE;
	for (size_t i = 0; i < ranked->spikes && spikes[i].ns; i++) {
		double f1;

		while (longer < ranked->controls && controls[longer].ns >= spikes[i].ns)
			longer++;
		f1 = score(i + 1, longer, of);
		if (f1 <= best)
			continue;
		best = ranked->f1 = f1;
		ranked->at_least_ns = spikes[i].ns;
		ranked->long_spikes = i + 1;
		ranked->long_controls = longer;
	}
}

static double sum_up(const struct having *list, size_t nr)
{
	double sum = 0;

	for (size_t i = 0; i < nr; i++)
		sum += (double)list[i].ns;
	return sum;
}

static int add_ranked(struct ranking *ranking, const struct having *spikes, size_t nr_spikes,
		      const struct having *controls, size_t nr_controls)
{
	struct ranked ranked = {
		.feature = spikes->feature,
		.spikes = nr_spikes,
		.controls = nr_controls,
	};
	double ns = sum_up(spikes, nr_spikes), control_ns = sum_up(controls, nr_controls);
	int r;

	ranked.spike_ns = (uint64_t)(ns / (double)nr_spikes);
	ranked.control_ns = nr_controls ? (uint64_t)(control_ns / (double)nr_controls) : 0;
	ranked.more_ns = ns / (double)ranking->spikes - control_ns / (double)ranking->controls;
	judge(&ranked, spikes, controls, ranking);
	if (ranked.f1 <= F1_NOTHING)
		return 0;
	r = array_grow(&ranking->rows, ranking->nr, sizeof(*ranking->rows));
	if (!r)
		ranking->rows[ranking->nr++] = ranked;
	return r;
}

static size_t count_same(const struct havings *havings, size_t at)
{
	size_t end = at;

	while (end < havings->nr && havings->list[end].feature == havings->list[at].feature)
		end++;
	return end - at;
}

static int rank(struct ranking *ranking, const struct profiles *profiles,
		const struct havings *spikes, const struct havings *controls)
{
	size_t control = 0;
	int r = 0;

	for (size_t i = 0, nr; i < spikes->nr && !r; i += nr) {
		uint32_t feature = spikes->list[i].feature;

		nr = count_same(spikes, i);
		while (control < controls->nr && controls->list[control].feature < feature)
			control++;
		if (profiles_kind(profiles, feature) != FEATURE_PATH)
			r = add_ranked(ranking, &spikes->list[i], nr, &controls->list[control],
				       control < controls->nr &&
						       controls->list[control].feature == feature
					       ? count_same(controls, control)
					       : 0);
	}
	return r;
}

/* A caller always takes longer than its callees, which does not make it the culprit: times within a
 * factor of two count as equal. */
static int octave(const struct ranked *ranked)
{
	return ranked->more_ns >= 1 ? 63 - __builtin_clzll((uint64_t)ranked->more_ns) : -1;
}

/* Of equals, the innermost, which was added last. */
static int compare_ranked(const void *a, const void *b)
{
	const struct ranked *x = a, *y = b;

	if (x->f1 != y->f1)
		return x->f1 > y->f1 ? -1 : 1;
	return octave(y) - octave(x) ?: array_compare(y->feature, x->feature);
}

int ranking_prepare(struct causes *causes)
{
	return causes->profiles.nr_controls
		       ? collect(&causes->profiles.controls, causes, RANKING_ALL, true)
		       : 0;
}

int ranking_make(struct ranking *ranking, const struct causes *causes, size_t group)
{
	const struct havings *controls = &causes->profiles.controls;
	struct havings spikes = { 0 };
	int r;

	*ranking = (struct ranking){ 0 };
	if (!controls->captures)
		return 0;
	r = collect(&spikes, causes, group, false);
	ranking->spikes = spikes.captures;
	ranking->controls = controls->captures;
	if (!r)
		r = rank(ranking, &causes->profiles, &spikes, controls);
	if (!r && ranking->nr)
		qsort(ranking->rows, ranking->nr, sizeof(*ranking->rows), compare_ranked);
	free(spikes.list);
	if (r)
		ranking_release(ranking);
	return r;
}

void ranking_release(struct ranking *ranking)
{
	free(ranking->rows);
	*ranking = (struct ranking){ 0 };
}
