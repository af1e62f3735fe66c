// SPDX-License-Identifier: GPL-2.0-only
#include "causes/causes.h"

#include <fnmatch.h>
#include <inttypes.h>
#include <search.h>
#include <string.h>
#include <time.h>

#include "array.h"
#include "json_util.h"
#include "text.h"
#include "units.h"

#define HASH_DIGITS 8

static int compare_fingerprint_ids(const void *a, const void *b)
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
	found = tsearch(added, &causes->by_id, compare_fingerprint_ids);
	if (!found || *found != added) {
		free(added);
		return found ? *found : NULL;
	}
	return causes->groups[causes->nr_groups++] = added;
}

const struct group *causes_find_group(const struct causes *causes, const char *id)
{
	struct group wanted = { 0 }, *const * found;

	snprintf(wanted.fingerprint.id, sizeof(wanted.fingerprint.id), "%s", id);
	found = tfind(&wanted, &causes->by_id, compare_fingerprint_ids);
	return found ? *found : NULL;
}

static void sighting_release(struct sighting *sighting)
{
	free((char *)sighting->path);
	free((char *)sighting->host);
	free((char *)sighting->sentence);
}

int causes_add_sighting(struct causes *causes, const struct sighting *sighting,
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

static int compare_sighting_times(const void *a, const void *b)
{
	const struct sighting *x = a, *y = b;

	return array_compare(x->wall_ns, y->wall_ns) ?: strcmp(x->path, y->path);
}

static int compare_latencies(const void *a, const void *b)
{
	return array_compare(*(const uint64_t *)a, *(const uint64_t *)b);
}

static int compare_cpu_numbers(const void *a, const void *b)
{
	return *(const int *)a - *(const int *)b;
}

static int compare_host_names(const void *a, const void *b)
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
	qsort(group->hosts, group->nr_hosts, sizeof(*group->hosts), compare_host_names);
	qsort(group->cpus, group->nr_cpus, sizeof(*group->cpus), compare_cpu_numbers);
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
	qsort(group->sightings, group->count, sizeof(*group->sightings), compare_sighting_times);
	group->worst = group->sightings;
	for (size_t i = 0; i < group->count; i++) {
		const struct sighting *sighting = &group->sightings[i];

		latencies[i] = sighting->latency_ns;
		group->first_ns = group->first_ns ?: sighting->wall_ns;
		group->last_ns = sighting->wall_ns;
		if (sighting->latency_ns > group->worst->latency_ns)
			group->worst = sighting;
	}
	qsort(latencies, group->count, sizeof(*latencies), compare_latencies);
	group->p50_ns = latencies[(group->count - 1) / 2];
	return group_find_places(group);
}

static int compare_group_counts(const void *a, const void *b)
{
	const struct group *x = *(struct group *const *)a, *y = *(struct group *const *)b;

	return array_compare(y->count, x->count) ?: compare_fingerprint_ids(x, y);
}

int causes_sort_groups(struct causes *causes)
{
	int err = 0;

	for (size_t i = 0; i < causes->nr_groups && !err; i++)
		err = group_summarise(causes->groups[i]);
	if (causes->nr_groups)
		qsort(causes->groups, causes->nr_groups, sizeof(*causes->groups),
		      compare_group_counts);
	return err;
}

static void keep_tree_item(void *item)
{
}

void causes_release(struct causes *causes)
{
	tdestroy(causes->by_id, keep_tree_item);
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

/* `irqs-off/acme_flush:1a2b3c4d` is a fingerprint; without the hash, it is a pattern. */
static bool is_fingerprint_pattern(const char *name)
{
	const char *colon = strrchr(name, ':');

	return !colon || strlen(colon + 1) != HASH_DIGITS ||
	       strspn(colon + 1, "0123456789abcdef") != HASH_DIGITS;
}

static bool is_calendar_date(const char *text)
{
	struct tm tm = { 0 };
	const char *end = strptime(text, "%Y-%m-%d", &tm);
	char day[16];

	/* Compare the digits: strptime() accepts fewer, and timegm() accepts February 31. */
	return end && !*end && strlen(text) == 10 && timegm(&tm) >= 0 &&
	       strftime(day, sizeof(day), "%Y-%m-%d", &tm) && !strcmp(day, text);
}

/* A member that nothing reads may be a misspelled `expires`. */
static int known_cause_check_members(json_object *json, char **why)
{
	static const struct {
		const char *name;
		json_type type;
		const char *what;
	} members[] = {
		{ "fingerprint", json_type_string, "a string" },
		{ "worst", json_type_string, "a time (use 30us, 1.5ms, 2s)" },
		{ "count", json_type_int, "a number" },
		{ "expires", json_type_string, "a date (use 2027-01-31)" },
		{ "comment", json_type_string, "a string" },
	};

	json_object_object_foreach (json, key, value) {
		size_t i = 0;

		while (i < ARRAY_SIZE(members) && strcmp(members[i].name, key))
			i++;
		if (i == ARRAY_SIZE(members))
			return say_why(why, -EINVAL,
				       "%s: no such member (fingerprint, worst, count, expires, "
				       "comment)",
				       CLEAN_TO(64, key));
		if (value && !json_object_is_type(value, members[i].type))
			return say_why(why, -EINVAL, "%s is not %s", key, members[i].what);
	}
	return 0;
}

static int known_cause_read(struct known_cause *cause, json_object *json, char **why)
{
	const char *worst = json_text_of(json, "worst");
	int err;

	if (!json_object_is_type(json, json_type_object))
		return say_why(why, -EINVAL, "not an object");
	err = known_cause_check_members(json, why);
	if (err)
		return err;
	*cause = (struct known_cause){
		.name = json_text_of(json, "fingerprint"),
		.expires = json_text_of(json, "expires"),
		.comment = json_text_of(json, "comment"),
	};
	if (!*cause->name)
		return say_why(why, -EINVAL,
			       "fingerprint is missing (use irqs-off/acme_flush:1a2b3c4d or "
			       "irqs-off/acme_*)");
	if (*worst && (units_parse_time(worst, &cause->worst_ns) || !cause->worst_ns))
		return say_why(why, -EINVAL, "worst is not a time (use 30us, 1.5ms, 2s)");
	if (*cause->expires && !is_calendar_date(cause->expires))
		return say_why(why, -EINVAL, "expires is not a date (use 2027-01-31)");
	return 0;
}

static int compare_known_causes(const void *a, const void *b)
{
	const struct known_cause *x = a, *y = b;

	return is_fingerprint_pattern(y->name) - is_fingerprint_pattern(x->name)
		       ?: strcmp(x->name, y->name);
}

static int known_read_causes(struct known *known, char **why)
{
	json_object *causes = json_find_typed(known->json, "causes", json_type_array);
	uint64_t version;

	if (!json_object_is_type(known->json, json_type_object))
		return say_why(why, -EINVAL, "not an object with version and causes");
	if (!json_read_number(json_find_value(known->json, "version"), &version) ||
	    version != FINGERPRINT_VERSION)
		return say_why(why, -EINVAL,
			       "version: missing, or not %d, which this program reads",
			       FINGERPRINT_VERSION);
	if (!causes)
		return say_why(why, -EINVAL, "causes: missing, or not a list");
	known->causes = calloc(json_object_array_length(causes) + 1, sizeof(*known->causes));
	if (!known->causes)
		return -ENOMEM;
	while (known->nr < json_object_array_length(causes)) {
		struct known_cause *cause = &known->causes[known->nr];
		_cleanup_free_ char *wrong = NULL;
		int err = known_cause_read(cause, json_object_array_get_idx(causes, known->nr),
					   &wrong);

		if (err)
			return say_why(why, err, "cause %zu: %s", known->nr + 1,
				       wrong ?: strerror(-err));
		known->nr++;
		known->nr_patterns += is_fingerprint_pattern(cause->name);
	}
	qsort(known->causes, known->nr, sizeof(*known->causes), compare_known_causes);
	return 0;
}

int known_causes_parse(struct known *known, const char *text, size_t size, char **why)
{
	int err;

	*known = (struct known){ 0 };
	err = json_file_parse(&known->json, text, size, why);
	if (!err)
		err = known_read_causes(known, why);
	if (err)
		known_causes_release(known);
	return err;
}

int known_causes_read(struct known *known, const char *path, char **why)
{
	int err;

	*known = (struct known){ 0 };
	err = json_file_read(&known->json, AT_FDCWD, path, why);
	if (!err)
		err = known_read_causes(known, why);
	if (err)
		known_causes_release(known);
	return err;
}

void known_causes_release(struct known *known)
{
	free(known->causes);
	json_object_put(known->json);
	*known = (struct known){ 0 };
}

const char *known_state_name(enum known_state state)
{
	static const char *const names[] = {
		[KNOWN_NEW] = "new",
		[KNOWN_WORSE] = "worse",
		[KNOWN_FINE] = "known",
	};

	return names[state];
}

static bool is_worse_than_known(const struct known_judge *judge, const struct known_cause *cause,
				uint64_t worst_ns)
{
	return cause->worst_ns &&
	       (double)worst_ns >
		       (double)cause->worst_ns * (100.0 + (double)judge->worse_percent) / 100.0;
}

/* The first cause of that fingerprint, or where it would be. */
static size_t known_cause_find(const struct known *known, const char *id)
{
	size_t first = known->nr_patterns;

	return first + ARRAY_COUNT_BEFORE(known->nr - first, i,
					  strcmp(known->causes[first + i].name, id) < 0);
}

static void known_cause_consider(const struct known_judge *judge, const struct group *group,
				 const struct known_cause *one, enum known_state *state,
				 const struct known_cause **cause)
{
	bool expired = *one->expires && strcmp(one->expires, judge->today) < 0;
	enum known_state found = expired ? KNOWN_NEW
				 : is_worse_than_known(judge, one, group->worst->latency_ns)
					 ? KNOWN_WORSE
					 : KNOWN_FINE;

	if (*cause && found <= *state)
		return;
	*cause = one;
	*state = found;
}

enum known_state known_judge_group(const struct known_judge *judge, const struct group *group,
				   const struct known_cause **cause)
{
	const struct known *known = judge->known;
	const char *id = group->fingerprint.id;
	enum known_state state = KNOWN_NEW;
	char name[FINGERPRINT_ID_SIZE];

	*cause = NULL;
	for (size_t i = known_cause_find(known, id);
	     i < known->nr && !strcmp(known->causes[i].name, id); i++)
		known_cause_consider(judge, group, &known->causes[i], &state, cause);
	snprintf(name, sizeof(name), "%.*s", (int)(strrchr(id, ':') - id), id);
	for (size_t i = 0; i < known->nr_patterns; i++) {
		if (!fnmatch(known->causes[i].name, name, 0))
			known_cause_consider(judge, group, &known->causes[i], &state, cause);
	}
	return state;
}

/* The known cause of a group, updated by its captures. */
static json_object *new_known_cause(const struct known *known, const struct group *group)
{
	const char *id = group->fingerprint.id;
	json_object *object = json_object_new_object();
	uint64_t worst_ns = group->worst->latency_ns;
	size_t old = known_cause_find(known, id);
	char worst[32];

	snprintf(worst, sizeof(worst), "%" PRIu64 ".%03uus", worst_ns / 1000,
		 (unsigned int)(worst_ns % 1000));
	json_add_text(object, "fingerprint", id);
	if (worst_ns)
		json_add_text(object, "worst", worst);
	json_add_u64(object, "count", group->count);
	if (old == known->nr || strcmp(known->causes[old].name, id))
		return object;
	if (*known->causes[old].expires)
		json_add_text(object, "expires", known->causes[old].expires);
	if (*known->causes[old].comment)
		json_add_text(object, "comment", known->causes[old].comment);
	return object;
}

int known_causes_write(FILE *file, const struct known *known, const struct causes *causes)
{
	_cleanup_json_ json_object *json = json_object_new_object();
	json_object *list = json_object_new_array(), *old = json_find_value(known->json, "causes");
	const char *text;

	json_add_int(json, "version", FINGERPRINT_VERSION);
	json_add(json, "causes", list);
	for (size_t i = 0; i < causes->nr_groups; i++)
		json_object_array_add(list, new_known_cause(known, causes->groups[i]));
	for (size_t i = 0; i < (old ? json_object_array_length(old) : 0); i++) {
		json_object *cause = json_object_array_get_idx(old, i);

		if (!causes_find_group(causes, json_text_of(cause, "fingerprint")))
			json_object_array_add(list, json_object_get(cause));
	}
	text = json_object_to_json_string_ext(json, JSON_C_TO_STRING_PRETTY |
							    JSON_C_TO_STRING_SPACED |
							    JSON_C_TO_STRING_NOSLASHESCAPE);
	return text && fprintf(file, "%s\n", text) > 0 ? 0 : -EIO;
}
