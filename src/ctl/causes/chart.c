// SPDX-License-Identifier: GPL-2.0-only
#include "causes/chart.h"

#include <sys/stat.h>

#include "array.h"
#include "capture/comparison_load.h"
#include "json_add.h"

/* Share of the width that flame.js does not draw. */
#define NARROW 0.001
#define NODES_MAX 2000

struct side {
	size_t captures;
	double window_ns;	    /* of all of them */
	double *self_ns, *total_ns; /* of places */
	size_t *seen;
};

static int side_init(struct side *side, const struct profiles *profiles)
{
	*side = (struct side){
		.self_ns = calloc(profiles->nr_places, sizeof(*side->self_ns)),
		.total_ns = calloc(profiles->nr_places, sizeof(*side->total_ns)),
		.seen = calloc(profiles->nr_places, sizeof(*side->seen)),
	};
	return side->self_ns && side->total_ns && side->seen ? 0 : -ENOMEM;
}

static void side_release(struct side *side)
{
	free(side->self_ns);
	free(side->total_ns);
	free(side->seen);
}

static bool is_shown(const struct profiles *profiles, uint32_t place)
{
	enum feature_kind kind = profiles_kind(profiles, profiles->places[place].feature);

	return kind != FEATURE_SENDER && kind != FEATURE_TASK;
}

static void add_capture(struct side *side, const struct profiles *profiles,
			const struct profiled *profiled)
{
	side->captures++;
	side->window_ns += (double)profiled->window_ns;
	for (size_t i = profiled->first; i < profiled->first + profiled->nr; i++) {
		side->self_ns[profiles->stays[i].place] += (double)profiles->stays[i].self_ns;
		side->seen[profiles->stays[i].place]++;
	}
}

/* Converts sums to means, with controls scaled to the length of spikes. */
static void finish(struct side *side, const struct profiles *profiles, double window_ns)
{
	double scale = side->window_ns ? window_ns / side->window_ns : 0;

	for (uint32_t i = 0; i < profiles->nr_places; i++)
		side->total_ns[i] = side->self_ns[i] *= scale;
	for (uint32_t i = profiles->nr_places; i-- > 1;) {
		if (is_shown(profiles, i))
			side->total_ns[profiles->places[i].parent] += side->total_ns[i];
	}
}

static json_object *new_node(const struct profiles *profiles, uint32_t place, uint32_t parent,
			     const struct side *spikes, const struct side *controls)
{
	static const char *const kinds[] = {
		[FEATURE_FUNCTION] = "function",
		[FEATURE_INTERRUPT] = "interrupt",
		[FEATURE_PATH] = "task",
	};
	uint32_t feature = profiles->places[place].feature;
	const char *name = place ? profiles_name(profiles, feature) : "";
	const double numbers[] = { spikes->total_ns[place], spikes->self_ns[place],
				   controls->total_ns[place], controls->self_ns[place] };
	json_object *list = json_object_new_array();

	json_push_u64(list, parent);
	json_push_text(list, profile_is_task(name) ? name + strlen(FINGERPRINT_TASK) : name);
	json_push_text(list, place ? kinds[profiles_kind(profiles, feature)] : "");
	for (size_t i = 0; i < ARRAY_SIZE(numbers); i++)
		json_push_u64(list, (uint64_t)numbers[i]);
	json_push_u64(list, spikes->seen[place]);
	json_push_u64(list, controls->seen[place]);
	return list;
}

/* Callers precede their callees and are at least as wide. */
static json_object *new_nodes(const struct profiles *profiles, const struct side *spikes,
			      const struct side *controls, uint32_t *number)
{
	double least = NARROW * spikes->total_ns[0], other = NARROW * controls->total_ns[0];
	json_object *list = json_object_new_array();
	uint32_t nr = 1;

	json_object_array_add(list, new_node(profiles, 0, 0, spikes, controls));
	for (uint32_t i = 1; i < profiles->nr_places && nr < NODES_MAX; i++) {
		uint32_t parent = profiles->places[i].parent;

		if (!is_shown(profiles, i) ||
		    !((spikes->total_ns[i] && spikes->total_ns[i] >= least) ||
		      (controls->total_ns[i] && controls->total_ns[i] >= other)))
			continue;
		number[i] = nr++;
		json_object_array_add(list,
				      new_node(profiles, i, number[parent], spikes, controls));
	}
	return list;
}

static json_object *new_chart(const struct profiles *profiles, const struct side *spikes,
			      const struct side *controls)
{
	_cleanup_free_ uint32_t *number = calloc(profiles->nr_places, sizeof(*number));
	json_object *object;
	double more_ns = 0;

	if (!number)
		return NULL;
	object = json_object_new_object();
	for (uint32_t i = 1; i < profiles->nr_places; i++) {
		double more = spikes->self_ns[i] - controls->self_ns[i];

		if (is_shown(profiles, i) && more > more_ns)
			more_ns = more;
	}
	json_add_u64(object, "spikes", spikes->captures);
	json_add_u64(object, "controls", controls->captures);
	json_add_u64(object, "more_ns", (uint64_t)more_ns);
	json_add(object, "nodes", new_nodes(profiles, spikes, controls, number));
	return object;
}

json_object *chart_of_controls(const struct causes *causes, size_t group)
{
	_cleanup_(side_release) struct side spikes = { 0 }, controls = { 0 };
	const struct profiles *profiles = &causes->profiles;
	double window_ns;

	if (!profiles->nr_controls || side_init(&spikes, profiles) ||
	    side_init(&controls, profiles))
		return NULL;
	for (size_t i = 0; i < profiles->nr; i++) {
		const struct profiled *profiled = &profiles->list[i];

		if (profiled->sighting == PROFILES_CONTROL)
			add_capture(&controls, profiles, profiled);
		else if (causes->seen[causes->sightings[profiled->sighting].kind].group == group)
			add_capture(&spikes, profiles, profiled);
	}
	if (!spikes.captures)
		return NULL;
	window_ns = spikes.window_ns / (double)spikes.captures;
	finish(&spikes, profiles, window_ns);
	finish(&controls, profiles, window_ns);
	return new_chart(profiles, &spikes, &controls);
}

int chart_of_normal(json_object **chart, const struct causes *causes, size_t group)
{
	const char *path = causes->sightings[causes->groups[group].example].path;
	_cleanup_(comparison_release) struct comparison normal = { 0 };
	const struct comparison_want want = { .folder = path, .activations = NORMAL_ACTIVATIONS };
	/* A capture that cannot be compared is no error. */
	_cleanup_fclose_ FILE *nowhere = fopen("/dev/null", "we");
	struct console quiet = { .out = nowhere, .err = nowhere };
	struct stat st;
	int r;

	*chart = NULL;
	if (!nowhere || stat(path, &st) || !S_ISDIR(st.st_mode))
		return 0;
	r = comparison_load(&normal, &quiet, &want);
	if (r)
		return r == -ENOMEM || r == -EINTR ? r : 0;
	if (comparison_is_enough(&normal))
		*chart = comparison_json(&normal, 0, true);
	return 0;
}
