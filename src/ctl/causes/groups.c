// SPDX-License-Identifier: GPL-2.0-only
#include "causes/groups.h"

#include <string.h>

#include "util.h"

static int make_room(void **list, size_t nr, size_t *room, size_t size)
{
	size_t wanted = *room ? 2 * *room : 64;
	void *grown;

	if (nr < *room)
		return 0;
	grown = reallocarray(*list, wanted, size);
	if (!grown)
		return -ENOMEM;
	*list = grown;
	*room = wanted;
	return 0;
}

static int find_seen(struct causes *causes, const struct fingerprint *fingerprint, size_t *found)
{
	int r;

	for (*found = 0; *found < causes->nr_seen; ++*found) {
		const struct fingerprint *other = &causes->seen[*found].fingerprint;

		if (other->hash == fingerprint->hash && !strcmp(other->id, fingerprint->id))
			return 0;
	}
	r = make_room((void **)&causes->seen, causes->nr_seen, &causes->room_seen,
		      sizeof(*causes->seen));
	if (!r)
		causes->seen[causes->nr_seen++] = (struct seen){ .fingerprint = *fingerprint };
	return r;
}

static int count(struct seen *seen, uint64_t latency_ns, const char *sentence)
{
	char *copy;

	seen->count++;
	if (seen->sentence && latency_ns <= seen->worst_ns)
		return 0;
	copy = strdup(sentence);
	if (!copy)
		return -ENOMEM;
	free(seen->sentence);
	seen->sentence = copy;
	seen->worst_ns = latency_ns;
	return 0;
}

int causes_add(struct causes *causes, const struct sighting *sighting,
	       const struct fingerprint *fingerprint, const char *sentence)
{
	_cleanup_free_ char *path = strdup(sighting->path);
	_cleanup_free_ char *host = strdup(sighting->host);
	struct sighting copy = *sighting;
	int r = path && host ? find_seen(causes, fingerprint, &copy.kind) : -ENOMEM;

	if (!r)
		r = make_room((void **)&causes->sightings, causes->nr, &causes->room,
			      sizeof(*causes->sightings));
	if (!r)
		r = count(&causes->seen[copy.kind], copy.latency_ns, sentence);
	if (r)
		return r;
	copy.path = TAKE_PTR(path);
	copy.host = TAKE_PTR(host);
	causes->sightings[causes->nr++] = copy;
	return 0;
}

static int by_count(const void *a, const void *b, void *arg)
{
	const struct causes *causes = arg;
	const struct seen *x = &causes->seen[*(const size_t *)a];
	const struct seen *y = &causes->seen[*(const size_t *)b];

	if (x->count != y->count)
		return x->count > y->count ? -1 : 1;
	return strcmp(x->fingerprint.id, y->fingerprint.id);
}

static int by_group_count(const void *a, const void *b, void *arg)
{
	const struct group *x = a, *y = b;
	struct causes *causes = arg;

	if (x->count != y->count)
		return x->count > y->count ? -1 : 1;
	return strcmp(group_seen(causes, x, 0)->fingerprint.id,
		      group_seen(causes, y, 0)->fingerprint.id);
}

/* The group with the most similar first fingerprint, or a new one. */
static size_t nearest(const struct causes *causes, const struct fingerprint *fingerprint,
		      double similarity)
{
	size_t found = causes->nr_groups;
	double best = 0;

	for (size_t i = 0; i < causes->nr_groups; i++) {
		double alike = fingerprint_similarity(
			&group_seen(causes, &causes->groups[i], 0)->fingerprint, fingerprint);

		if (alike < similarity || alike <= best)
			continue;
		best = alike;
		found = i;
	}
	return found;
}

static int assign(struct causes *causes, size_t number, double similarity)
{
	size_t at = nearest(causes, &causes->seen[number].fingerprint, similarity);
	struct group *group = &causes->groups[at];
	size_t *seen = reallocarray(group->seen, group->nr_seen + 1, sizeof(*seen));

	if (!seen)
		return -ENOMEM;
	group->seen = seen;
	seen[group->nr_seen++] = number;
	group->count += causes->seen[number].count;
	causes->nr_groups += at == causes->nr_groups;
	return 0;
}

static int by_time(const void *a, const void *b, void *arg)
{
	const struct causes *causes = arg;
	const struct sighting *x = &causes->sightings[*(const size_t *)a];
	const struct sighting *y = &causes->sightings[*(const size_t *)b];

	if (x->wall_ns != y->wall_ns)
		return x->wall_ns < y->wall_ns ? -1 : 1;
	return strcmp(x->path, y->path);
}

static int by_number(const void *a, const void *b)
{
	const uint64_t *x = a, *y = b;

	return (*x > *y) - (*x < *y);
}

static int by_cpu(const void *a, const void *b)
{
	return *(const int *)a - *(const int *)b;
}

static int by_name(const void *a, const void *b)
{
	return strcmp(*(const char *const *)a, *(const char *const *)b);
}

static int add_places(const struct causes *causes, struct group *group)
{
	size_t nr = 0;

	group->hosts = calloc(group->count, sizeof(*group->hosts));
	group->cpus = calloc(group->count, sizeof(*group->cpus));
	if (!group->hosts || !group->cpus)
		return -ENOMEM;
	for (size_t i = 0; i < group->count; i++) {
		const struct sighting *sighting = &causes->sightings[group->sightings[i]];

		if (*sighting->host)
			group->hosts[group->nr_hosts++] = sighting->host;
		if (sighting->cpu >= 0)
			group->cpus[group->nr_cpus++] = sighting->cpu;
	}
	qsort(group->hosts, group->nr_hosts, sizeof(*group->hosts), by_name);
	qsort(group->cpus, group->nr_cpus, sizeof(*group->cpus), by_cpu);
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

static int summarise(struct causes *causes, struct group *group)
{
	_cleanup_free_ uint64_t *latencies = calloc(group->count, sizeof(*latencies));

	if (!latencies)
		return -ENOMEM;
	qsort_r(group->sightings, group->count, sizeof(*group->sightings), by_time, causes);
	group->example = group->sightings[0];
	for (size_t i = 0; i < group->count; i++) {
		const struct sighting *sighting = &causes->sightings[group->sightings[i]];

		latencies[i] = sighting->latency_ns;
		group->first_ns = group->first_ns ?: sighting->wall_ns;
		group->last_ns = sighting->wall_ns;
		if (sighting->latency_ns <= group->worst_ns)
			continue;
		group->worst_ns = sighting->latency_ns;
		group->example = group->sightings[i];
	}
	qsort(latencies, group->count, sizeof(*latencies), by_number);
	group->p50_ns = latencies[(group->count - 1) / 2];
	return add_places(causes, group);
}

static int distribute(struct causes *causes)
{
	int r = 0;

	for (size_t i = 0; i < causes->nr_groups; i++) {
		struct group *group = &causes->groups[i];

		for (size_t k = 0; k < group->nr_seen; k++)
			causes->seen[group->seen[k]].group = i;
		group->sightings = calloc(group->count, sizeof(*group->sightings));
		if (!group->sightings)
			return -ENOMEM;
		group->count = 0;
	}
	for (size_t i = 0; i < causes->nr; i++) {
		struct group *group =
			&causes->groups[causes->seen[causes->sightings[i].kind].group];

		group->sightings[group->count++] = i;
	}
	for (size_t i = 0; i < causes->nr_groups && !r; i++)
		r = summarise(causes, &causes->groups[i]);
	return r;
}

int causes_group(struct causes *causes, double similarity)
{
	_cleanup_free_ size_t *order = calloc(causes->nr_seen + 1, sizeof(*order));
	int r = 0;

	causes->groups = calloc(causes->nr_seen + 1, sizeof(*causes->groups));
	if (!order || !causes->groups)
		return -ENOMEM;
	for (size_t i = 0; i < causes->nr_seen; i++)
		order[i] = i;
	qsort_r(order, causes->nr_seen, sizeof(*order), by_count, causes);
	for (size_t i = 0; i < causes->nr_seen && !r; i++)
		r = assign(causes, order[i], similarity);
	if (r)
		return r;
	qsort_r(causes->groups, causes->nr_groups, sizeof(*causes->groups), by_group_count, causes);
	return distribute(causes);
}

void causes_release(struct causes *causes)
{
	for (size_t i = 0; i < causes->nr_groups; i++) {
		free(causes->groups[i].seen);
		free(causes->groups[i].sightings);
		free(causes->groups[i].hosts);
		free(causes->groups[i].cpus);
	}
	free(causes->groups);
	for (size_t i = 0; i < causes->nr; i++) {
		free((char *)causes->sightings[i].path);
		free((char *)causes->sightings[i].host);
	}
	free(causes->sightings);
	for (size_t i = 0; i < causes->nr_seen; i++)
		free(causes->seen[i].sentence);
	free(causes->seen);
	profiles_release(&causes->profiles);
	for (size_t i = 0; i < causes->nr_unread; i++)
		free(causes->unread[i].path);
	free(causes->unread);
	*causes = (struct causes){ 0 };
}
