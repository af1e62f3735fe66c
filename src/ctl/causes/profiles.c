// SPDX-License-Identifier: GPL-2.0-only
#include "causes/profiles.h"

#include "array.h"

static uint32_t find_feature(struct profiles *profiles, enum feature_kind kind, const char *name)
{
	char text[1 + FINGERPRINT_NAME_SIZE];

	snprintf(text, sizeof(text), "%d%s", (int)kind, name);
	return names_add(profiles->names, text);
}

static int find_place(struct profiles *profiles, uint32_t parent, uint32_t feature, uint32_t *place)
{
	struct place *places = profiles->places;
	int r;

	for (*place = places[parent].child; *place; *place = places[*place].next) {
		if (places[*place].feature == feature)
			return 0;
	}
	r = array_grow(&profiles->places, profiles->nr_places, sizeof(*profiles->places));
	if (r)
		return r;
	places = profiles->places;
	*place = profiles->nr_places++;
	places[*place] = (struct place){
		.feature = feature,
		.parent = parent,
		.next = places[parent].child,
	};
	places[parent].child = *place;
	for (uint32_t i = parent; i && !places[*place].again; i = places[i].parent)
		places[*place].again = places[i].feature == feature;
	return 0;
}

/* A malformed file may name a place twice. */
static int add_stay(struct profiles *profiles, uint32_t place, uint64_t self_ns)
{
	size_t *stay = &profiles->places[place].stay;
	int r;

	if (*stay >= profiles->list[profiles->nr].first && *stay < profiles->nr_stays &&
	    profiles->stays[*stay].place == place) {
		profiles->stays[*stay].self_ns += self_ns;
		return 0;
	}
	r = array_grow(&profiles->stays, profiles->nr_stays, sizeof(*profiles->stays));
	if (r)
		return r;
	*stay = profiles->nr_stays;
	profiles->stays[profiles->nr_stays++] = (struct stay){ place, self_ns };
	return 0;
}

static int add_node(struct profiles *profiles, const struct profile_node *node, uint32_t parent,
		    uint32_t *place)
{
	enum feature_kind kind = profile_is_task(node->name) ? FEATURE_PATH
				 : node->name[0] == '['	     ? FEATURE_INTERRUPT
							     : FEATURE_FUNCTION;
	int r = find_place(profiles, parent, find_feature(profiles, kind, node->name), place);

	return r ?: add_stay(profiles, *place, node->self_ns);
}

static int add_rows(struct profiles *profiles, enum feature_kind kind,
		    const struct profile_rows *rows)
{
	uint32_t place;
	int r = 0;

	for (size_t i = 0; i < rows->nr && !r; i++) {
		r = find_place(profiles, 0, find_feature(profiles, kind, rows->rows[i].name),
			       &place);
		if (!r)
			r = add_stay(profiles, place, rows->rows[i].ns);
	}
	return r;
}

static int make_root(struct profiles *profiles)
{
	int r = names_new(&profiles->names);

	if (r)
		return r;
	profiles->places = calloc(1, sizeof(*profiles->places));
	if (!profiles->places)
		return -ENOMEM;
	profiles->nr_places = 1;
	return 0;
}

int profiles_add(struct profiles *profiles, const struct profile *profile, size_t sighting)
{
	_cleanup_free_ uint32_t *places = calloc(profile->nr_nodes + 1, sizeof(*places));
	int r = places ? 0 : -ENOMEM;

	if (!r && !profiles->names)
		r = make_root(profiles);
	if (!r)
		r = array_grow(&profiles->list, profiles->nr, sizeof(*profiles->list));
	if (r)
		return r;
	profiles->list[profiles->nr] = (struct profiled){
		.sighting = sighting,
		.first = profiles->nr_stays,
		.window_ns = profile->window_ns,
	};
	for (uint32_t i = 1; i < profile->nr_nodes && !r; i++)
		r = add_node(profiles, &profile->nodes[i], places[profile->nodes[i].parent],
			     &places[i]);
	if (!r)
		r = add_rows(profiles, FEATURE_SENDER, &profile->senders);
	if (!r)
		r = add_rows(profiles, FEATURE_TASK, &profile->tasks);
	if (r)
		return r;
	profiles->list[profiles->nr].nr = profiles->nr_stays - profiles->list[profiles->nr].first;
	profiles->nr++;
	profiles->nr_controls += sighting == PROFILES_CONTROL;
	return names_error(profiles->names);
}

void profiles_release(struct profiles *profiles)
{
	names_free(profiles->names);
	free(profiles->places);
	free(profiles->stays);
	free(profiles->list);
	free(profiles->controls.list);
	*profiles = (struct profiles){ 0 };
}
