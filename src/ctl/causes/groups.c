// SPDX-License-Identifier: GPL-2.0-only
#include "causes/groups.h"

#include <search.h>
#include <string.h>

#include "array.h"

static int compare_ids(const void *a, const void *b)
{
	const struct group *x = a, *y = b;

	return strcmp(x->fingerprint.id, y->fingerprint.id);
}

/* NULL if out of memory. */
static struct group *find_or_add_group(struct causes *causes, const struct fingerprint *fingerprint)
{
	struct group *added = calloc(1, sizeof(*added));
	struct group **found;

	if (!added || array_grow(&causes->groups, causes->nr_groups, sizeof(*causes->groups))) {
		free(added);
		return NULL;
	}
	added->fingerprint = *fingerprint;
	found = tsearch(added, &causes->by_id, compare_ids);
	if (!found || *found != added) {
		free(added);
		return found ? *found : NULL;
	}
	return causes->groups[causes->nr_groups++] = added;
}

const struct group *causes_find(const struct causes *causes, const char *id)
{
	struct group wanted = { 0 }, *const * found;

	snprintf(wanted.fingerprint.id, sizeof(wanted.fingerprint.id), "%s", id);
	found = tfind(&wanted, &causes->by_id, compare_ids);
	return found ? *found : NULL;
}

static void sighting_release(struct sighting *sighting)
{
	free((char *)sighting->path);
	free((char *)sighting->host);
	free((char *)sighting->sentence);
}

int causes_add(struct causes *causes, const struct sighting *sighting,
	       const struct fingerprint *fingerprint)
{
	struct group *group = find_or_add_group(causes, fingerprint);
	struct sighting copy = *sighting;

	copy.path = strdup(sighting->path);
	copy.host = strdup(sighting->host);
	copy.sentence = strdup(sighting->sentence);
	if (!group || !copy.path || !copy.host || !copy.sentence ||
	    array_grow(&group->sightings, group->count, sizeof(copy))) {
		sighting_release(&copy);
		return -ENOMEM;
	}
	group->sightings[group->count++] = copy;
	causes->nr++;
	return 0;
}

static int compare_times(const void *a, const void *b)
{
	const struct sighting *x = a, *y = b;

	return array_compare(x->wall_ns, y->wall_ns) ?: strcmp(x->path, y->path);
}

static int compare_numbers(const void *a, const void *b)
{
	return array_compare(*(const uint64_t *)a, *(const uint64_t *)b);
}

static int compare_cpus(const void *a, const void *b)
{
	return *(const int *)a - *(const int *)b;
}

static int compare_names(const void *a, const void *b)
{
	return strcmp(*(const char *const *)a, *(const char *const *)b);
}

static int group_find_places(struct group *group)
{
	size_t nr = 0;

	group->hosts = calloc(group->count, sizeof(*group->hosts));
	group->cpus = calloc(group->count, sizeof(*group->cpus));
	if (!group->hosts || !group->cpus)
		return -ENOMEM;
	for (size_t i = 0; i < group->count; i++) {
		const struct sighting *sighting = &group->sightings[i];

		if (*sighting->host)
			group->hosts[group->nr_hosts++] = sighting->host;
		if (sighting->cpu >= 0)
			group->cpus[group->nr_cpus++] = sighting->cpu;
	}
	qsort(group->hosts, group->nr_hosts, sizeof(*group->hosts), compare_names);
	qsort(group->cpus, group->nr_cpus, sizeof(*group->cpus), compare_cpus);
	for (size_t i = 0; i < group->nr_hosts; i++) {
		if (!nr || strcmp(group->hosts[nr - 1], group->hosts[i]))
			group->hosts[nr++] = group->hosts[i];
	}
	group->nr_hosts = nr;
	nr = 0;
	for (size_t i = 0; i < group->nr_cpus; i++) {
		if (!nr || group->cpus[nr - 1] != group->cpus[i])
			group->cpus[nr++] = group->cpus[i];
	}
	group->nr_cpus = nr;
	return 0;
}

static int group_summarise(struct group *group)
{
	_cleanup_free_ uint64_t *latencies = calloc(group->count, sizeof(*latencies));

	if (!latencies)
		return -ENOMEM;
	qsort(group->sightings, group->count, sizeof(*group->sightings), compare_times);
	group->worst = group->sightings;
	for (size_t i = 0; i < group->count; i++) {
		const struct sighting *sighting = &group->sightings[i];

		latencies[i] = sighting->latency_ns;
		group->first_ns = group->first_ns ?: sighting->wall_ns;
		group->last_ns = sighting->wall_ns;
		if (sighting->latency_ns > group->worst->latency_ns)
			group->worst = sighting;
	}
	qsort(latencies, group->count, sizeof(*latencies), compare_numbers);
	group->p50_ns = latencies[(group->count - 1) / 2];
	return group_find_places(group);
}

static int compare_counts(const void *a, const void *b)
{
	const struct group *x = *(struct group *const *)a, *y = *(struct group *const *)b;

	return array_compare(y->count, x->count) ?: compare_ids(x, y);
}

int causes_sort(struct causes *causes)
{
	int r = 0;

	for (size_t i = 0; i < causes->nr_groups && !r; i++)
		r = group_summarise(causes->groups[i]);
	if (causes->nr_groups)
		qsort(causes->groups, causes->nr_groups, sizeof(*causes->groups), compare_counts);
	return r;
}

static void keep_item(void *item)
{
}

void causes_release(struct causes *causes)
{
	tdestroy(causes->by_id, keep_item);
	for (size_t i = 0; i < causes->nr_groups; i++) {
		struct group *group = causes->groups[i];

		for (size_t k = 0; k < group->count; k++)
			sighting_release(&group->sightings[k]);
		free(group->sightings);
		free(group->hosts);
		free(group->cpus);
		free(group);
	}
	free(causes->groups);
	*causes = (struct causes){ 0 };
}
