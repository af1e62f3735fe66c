// SPDX-License-Identifier: GPL-2.0-only
#include "causes/known.h"

#include <fnmatch.h>
#include <inttypes.h>
#include <string.h>
#include <time.h>

#include "array.h"
#include "json_add.h"
#include "json_file.h"
#include "text.h"
#include "units.h"

#define HASH_DIGITS 8

/* `irqs-off/acme_flush:1a2b3c4d` is a fingerprint; without the hash, it is a pattern. */
static bool is_pattern(const char *name)
{
	const char *colon = strrchr(name, ':');

	return !colon || strlen(colon + 1) != HASH_DIGITS ||
	       strspn(colon + 1, "0123456789abcdef") != HASH_DIGITS;
}

static bool is_date(const char *text)
{
	struct tm tm = { 0 };
	const char *end = strptime(text, "%Y-%m-%d", &tm);
	char day[16];

	/* Compare the digits: strptime() accepts fewer, and timegm() accepts February 31. */
	return end && !*end && strlen(text) == 10 && timegm(&tm) >= 0 &&
	       strftime(day, sizeof(day), "%Y-%m-%d", &tm) && !strcmp(day, text);
}

/* A member that nothing reads may be a misspelled `expires`. */
static int known_check_members(json_object *json, char **why)
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
	int r;

	if (!json_object_is_type(json, json_type_object))
		return say_why(why, -EINVAL, "not an object");
	r = known_check_members(json, why);
	if (r)
		return r;
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
	if (*cause->expires && !is_date(cause->expires))
		return say_why(why, -EINVAL, "expires is not a date (use 2027-01-31)");
	return 0;
}

static int compare_causes(const void *a, const void *b)
{
	const struct known_cause *x = a, *y = b;

	return is_pattern(y->name) - is_pattern(x->name) ?: strcmp(x->name, y->name);
}

static int known_read_causes(struct known *known, char **why)
{
	json_object *causes = json_find_typed(known->json, "causes", json_type_array);
	uint64_t version;

	if (!json_object_is_type(known->json, json_type_object))
		return say_why(why, -EINVAL, "not an object with version and causes");
	if (!json_number(json_find(known->json, "version"), &version) ||
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
		int r = known_cause_read(cause, json_object_array_get_idx(causes, known->nr),
					 &wrong);

		if (r)
			return say_why(why, r, "cause %zu: %s", known->nr + 1,
				       wrong ?: strerror(-r));
		known->nr++;
		known->nr_patterns += is_pattern(cause->name);
	}
	qsort(known->causes, known->nr, sizeof(*known->causes), compare_causes);
	return 0;
}

int known_parse(struct known *known, const char *text, size_t size, char **why)
{
	int r;

	*known = (struct known){ 0 };
	r = json_file_parse(&known->json, text, size, why);
	if (!r)
		r = known_read_causes(known, why);
	if (r)
		known_release(known);
	return r;
}

int known_read(struct known *known, const char *path, char **why)
{
	int r;

	*known = (struct known){ 0 };
	r = json_file_read(&known->json, AT_FDCWD, path, why);
	if (!r)
		r = known_read_causes(known, why);
	if (r)
		known_release(known);
	return r;
}

void known_release(struct known *known)
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

static bool is_worse(const struct known_judge *judge, const struct known_cause *cause,
		     uint64_t worst_ns)
{
	return cause->worst_ns &&
	       (double)worst_ns >
		       (double)cause->worst_ns * (100.0 + (double)judge->worse_percent) / 100.0;
}

/* The first cause of that fingerprint, or where it would be. */
static size_t known_find(const struct known *known, const char *id)
{
	size_t first = known->nr_patterns;

	return first + ARRAY_COUNT_BEFORE(known->nr - first, i,
					  strcmp(known->causes[first + i].name, id) < 0);
}

static void known_consider(const struct known_judge *judge, const struct group *group,
			   const struct known_cause *one, enum known_state *state,
			   const struct known_cause **cause)
{
	bool expired = *one->expires && strcmp(one->expires, judge->today) < 0;
	enum known_state found = expired					  ? KNOWN_NEW
				 : is_worse(judge, one, group->worst->latency_ns) ? KNOWN_WORSE
										  : KNOWN_FINE;

	if (*cause && found <= *state)
		return;
	*cause = one;
	*state = found;
}

enum known_state known_judge(const struct known_judge *judge, const struct group *group,
			     const struct known_cause **cause)
{
	const struct known *known = judge->known;
	const char *id = group->fingerprint.id;
	enum known_state state = KNOWN_NEW;
	char name[FINGERPRINT_ID_SIZE];

	*cause = NULL;
	for (size_t i = known_find(known, id); i < known->nr && !strcmp(known->causes[i].name, id);
	     i++)
		known_consider(judge, group, &known->causes[i], &state, cause);
	snprintf(name, sizeof(name), "%.*s", (int)(strrchr(id, ':') - id), id);
	for (size_t i = 0; i < known->nr_patterns; i++) {
		if (!fnmatch(known->causes[i].name, name, 0))
			known_consider(judge, group, &known->causes[i], &state, cause);
	}
	return state;
}

/* The known cause of a group, updated by its captures. */
static json_object *new_known_cause(const struct known *known, const struct group *group)
{
	const char *id = group->fingerprint.id;
	json_object *object = json_object_new_object();
	uint64_t worst_ns = group->worst->latency_ns;
	size_t old = known_find(known, id);
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

int known_write(FILE *file, const struct known *known, const struct causes *causes)
{
	_cleanup_json_ json_object *json = json_object_new_object();
	json_object *list = json_object_new_array(), *old = json_find(known->json, "causes");
	const char *text;

	json_add_int(json, "version", FINGERPRINT_VERSION);
	json_add(json, "causes", list);
	for (size_t i = 0; i < causes->nr_groups; i++)
		json_object_array_add(list, new_known_cause(known, causes->groups[i]));
	for (size_t i = 0; i < (old ? json_object_array_length(old) : 0); i++) {
		json_object *cause = json_object_array_get_idx(old, i);

		if (!causes_find(causes, json_text_of(cause, "fingerprint")))
			json_object_array_add(list, json_object_get(cause));
	}
	text = json_object_to_json_string_ext(json, JSON_C_TO_STRING_PRETTY |
							    JSON_C_TO_STRING_SPACED |
							    JSON_C_TO_STRING_NOSLASHESCAPE);
	return text && fprintf(file, "%s\n", text) > 0 ? 0 : -EIO;
}
