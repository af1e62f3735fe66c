// SPDX-License-Identifier: GPL-2.0-only
#include "causes/known.h"

#include <fnmatch.h>
#include <inttypes.h>
#include <string.h>
#include <time.h>

#include "json_add.h"
#include "json_file.h"
#include "printable.h"
#include "units.h"

#define CAUSES_MAX 100000

/* Returns the end of a string that begins at s. */
static const char *skip_string(const char *s)
{
	for (s++; *s && *s != '"'; s++)
		s += *s == '\\' && s[1];
	return s + (*s == '"');
}

static size_t comment_length(const char *s)
{
	const char *end;

	if (!strncmp(s, "//", 2))
		return strcspn(s, "\n");
	if (strncmp(s, "/*", 2))
		return 0;
	end = strstr(s + 2, "*/");
	return end ? (size_t)(end + 2 - s) : 0;
}

/* Blanks comments without moving lines. */
static void blank_comments(char *text)
{
	char *s = text;

	while (*s) {
		size_t length = comment_length(s);

		if (*s == '"') {
			s += skip_string(s) - s;
			continue;
		}
		for (size_t i = 0; i < length; i++) {
			if (s[i] != '\n')
				s[i] = ' ';
		}
		s += length ?: 1;
	}
}

static int line_at(const char *text, size_t at)
{
	int line = 1;

	for (size_t i = 0; i < at && text[i]; i++)
		line += text[i] == '\n';
	return line;
}

/* The line of a member of the n-th object in the list, or of that object if it lacks the member:
 * json-c keeps no positions. The text is valid JSON. */
static int line_of(const char *text, size_t number, const char *key)
{
	size_t depth = 0, objects = 0, length = strlen(key);
	const char *s = text, *found = text;

	for (; *s; s++) {
		if (*s == '{' || *s == '[')
			depth++;
		if (*s == '{' && depth == 3 && objects++ == number)
			found = s;
		if (*s == '}' || *s == ']')
			depth--;
		if (objects > number && depth < 3)
			break;
		if (*s != '"')
			continue;
		if (objects == number + 1 && depth == 3 && length && !strncmp(s + 1, key, length) &&
		    s[length + 1] == '"')
			return line_at(text, (size_t)(s - text));
		s = skip_string(s) - 1;
	}
	return line_at(text, (size_t)(found - text));
}

struct parsing {
	const char *text;
	char **why;
	size_t number; /* of the cause */
};

static int refuse(const struct parsing *p, const char *key, const char *what)
{
	return say_why(p->why, -EINVAL, "line %d: %s%s%s", line_of(p->text, p->number, key), key,
		       *key ? ": " : "", what);
}

/* *text is NULL if it is missing or null. */
static int get_text(const struct parsing *p, json_object *json, const char *key, const char **text)
{
	json_object *value;

	*text = NULL;
	if (!json_object_object_get_ex(json, key, &value) || !value)
		return 0;
	if (!json_object_is_type(value, json_type_string))
		return refuse(p, key, "not a string");
	*text = json_object_get_string(value);
	return 0;
}

/* `irqs-off/acme_flush:1a2b3c4d` is a fingerprint; without the hash, it is a pattern. */
static int read_fingerprint(const struct parsing *p, json_object *json, struct known_cause *cause)
{
	const char *text, *colon;
	int r = get_text(p, json, "fingerprint", &text);

	if (r)
		return r;
	if (!text || !*text)
		return refuse(p, "fingerprint",
			      "missing (such as \"irqs-off/acme_flush:1a2b3c4d\" or "
			      "\"irqs-off/acme_*\")");
	colon = strrchr(text, ':');
	if (colon && (strlen(colon) != 9 || colon[1 + strspn(colon + 1, "0123456789abcdef")]))
		colon = NULL;
	cause->id = colon ? strdup(text) : NULL;
	cause->pattern = strdup(text);
	return !cause->pattern || (colon && !cause->id) ? -ENOMEM : 0;
}

/* Chain and sender define what is similar. The kind is that of the fingerprint. */
static int read_chain(const struct parsing *p, json_object *json, struct known_cause *cause)
{
	json_object *chain;
	int r;

	if (!json_object_object_get_ex(json, "chain", &chain) || !chain)
		return 0;
	if (!cause->id)
		return refuse(p, "chain", "needs fingerprint with all 8 digits");
	json_object_object_add(
		json, "kind", json_object_new_string_len(cause->id, (int)strcspn(cause->id, "/:")));
	r = fingerprint_from_json(&cause->fingerprint, json);
	if (r)
		return refuse(p, "chain", "not a list of functions as written by causes --save");
	if (strcmp(cause->fingerprint.id, cause->id))
		return refuse(p, "fingerprint",
			      "does not match chain and sender (remove one or the others)");
	return 0;
}

static int read_worst(const struct parsing *p, json_object *json, struct known_cause *cause)
{
	const char *text;
	int r = get_text(p, json, "worst", &text);

	if (r || !text)
		return r;
	return units_parse_time(text, &cause->worst_ns) || !cause->worst_ns
		       ? refuse(p, "worst", "not a time (use 30us, 1.5ms, 2s)")
		       : 0;
}

static int read_expires(const struct parsing *p, json_object *json, struct known_cause *cause)
{
	struct tm tm = { 0 };
	const char *text, *end;
	char day[16];
	int r = get_text(p, json, "expires", &text);

	if (r || !text)
		return r;
	end = strptime(text, "%Y-%m-%d", &tm);
	/* Compare the digits: strptime() accepts fewer, and timegm() accepts February 31. */
	if (!end || *end || strlen(text) != 10 || timegm(&tm) < 0 ||
	    !strftime(day, sizeof(day), "%Y-%m-%d", &tm) || strcmp(day, text))
		return refuse(p, "expires", "not a date (use 2027-01-31)");
	snprintf(cause->expires, sizeof(cause->expires), "%s", text);
	return 0;
}

static int read_comment(const struct parsing *p, json_object *json, struct known_cause *cause)
{
	const char *text;
	int r = get_text(p, json, "comment", &text);

	if (r || !text)
		return r;
	cause->comment = strdup(text);
	return cause->comment ? 0 : -ENOMEM;
}

static int read_count(const struct parsing *p, json_object *json, struct known_cause *cause)
{
	json_object *value;

	if (!json_object_object_get_ex(json, "count", &value) || !value)
		return 0;
	if (!json_object_is_type(value, json_type_int) || json_object_get_int64(value) < 0)
		return refuse(p, "count", "not a non-negative integer");
	cause->count = (uint64_t)json_object_get_int64(value);
	return 0;
}

/* Returns a member that nothing reads, such as a misspelled `expire`. NULL: none. */
static const char *odd_key(json_object *json, const char *const *keys, size_t nr)
{
	json_object_object_foreach (json, key, value) {
		bool found = false;

		(void)value;
		for (size_t i = 0; i < nr && !found; i++)
			found = !strcmp(keys[i], key);
		if (!found)
			return key;
	}
	return NULL;
}

static int read_cause(const struct parsing *p, json_object *json, struct known_cause *cause)
{
	static const char *const keys[] = { "fingerprint", "chain",   "sender", "worst",
					    "count",	   "expires", "comment" };
	const char *odd;
	int r;

	if (!json_object_is_type(json, json_type_object))
		return refuse(p, "", "a cause is not an object");
	odd = odd_key(json, keys, ARRAY_SIZE(keys));
	if (odd)
		return refuse(p, printable_copy((char[64]){ 0 }, 64, odd),
			      "no such member (fingerprint, chain, sender, worst, count, expires, "
			      "comment)");
	r = read_fingerprint(p, json, cause);
	if (!r)
		r = read_chain(p, json, cause);
	if (!r)
		r = read_worst(p, json, cause);
	if (!r)
		r = read_count(p, json, cause);
	if (!r)
		r = read_expires(p, json, cause);
	return r ? r : read_comment(p, json, cause);
}

static int read_all(struct known *known, json_object *json, const char *text, char **why)
{
	static const char *const keys[] = { "version", "causes" };
	struct parsing p = { .text = text, .why = why };
	json_object *version, *causes;
	size_t nr;

	if (!json_object_is_type(json, json_type_object) || odd_key(json, keys, ARRAY_SIZE(keys)))
		return say_why(why, -EINVAL, "line 1: not an object with only version and causes");

	if (!json_object_object_get_ex(json, "version", &version) ||
	    !json_object_is_type(version, json_type_int) ||
	    json_object_get_int64(version) != FINGERPRINT_VERSION)
		return say_why(why, -EINVAL,
			       "line 1: version: missing, or not %d, which this program reads",
			       FINGERPRINT_VERSION);
	if (!json_object_object_get_ex(json, "causes", &causes) ||
	    !json_object_is_type(causes, json_type_array))
		return say_why(why, -EINVAL, "line 1: causes: missing, or not a list");
	nr = json_object_array_length(causes);
	if (nr > CAUSES_MAX)
		return say_why(why, -EINVAL, "line 1: causes: more than %d", CAUSES_MAX);
	known->causes = calloc(nr + 1, sizeof(*known->causes));
	if (!known->causes)
		return -ENOMEM;
	for (; p.number < nr; p.number++) {
		int r = read_cause(&p, json_object_array_get_idx(causes, p.number),
				   &known->causes[known->nr++]);

		if (r)
			return r;
	}
	return 0;
}

int known_parse(struct known *known, const char *text, size_t size, char **why)
{
	_cleanup_json_ json_object *json = NULL;
	_cleanup_free_ char *copy = malloc(size + 1);
	_cleanup_free_ char *wrong = NULL;
	size_t at = 0;
	int r;

	*known = (struct known){ 0 };
	if (!copy)
		return -ENOMEM;
	memcpy(copy, text, size + 1);
	if (!memchr(text, '\0', size))
		blank_comments(copy);
	r = json_file_parse_at(&json, copy, size, &at, &wrong);
	if (!r)
		r = read_all(known, json, copy, why);
	else if (wrong)
		say_why(why, r, "line %d: %s", line_at(copy, at), wrong);
	if (r)
		known_release(known);
	return r;
}

int known_read(struct known *known, const char *path, char **why)
{
	_cleanup_free_ char *text = NULL;
	size_t size = 0;
	int r = json_file_text(AT_FDCWD, path, &text, &size, why);

	*known = (struct known){ 0 };
	return r ? r : known_parse(known, text, size, why);
}

void known_release(struct known *known)
{
	for (size_t i = 0; i < known->nr; i++) {
		free(known->causes[i].pattern);
		free(known->causes[i].id);
		free(known->causes[i].comment);
	}
	free(known->causes);
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

static bool is_one(const struct known_judge *judge, const struct known_cause *cause,
		   const struct fingerprint *fingerprint)
{
	char name[FINGERPRINT_ID_SIZE];

	if (cause->fingerprint.kind[0])
		return fingerprint_similarity(&cause->fingerprint, fingerprint) >=
		       judge->similarity;
	if (cause->id)
		return !strcmp(cause->id, fingerprint->id);
	snprintf(name, sizeof(name), "%.*s", (int)(strrchr(fingerprint->id, ':') - fingerprint->id),
		 fingerprint->id);
	return !fnmatch(cause->pattern, name, 0);
}

static bool matches(const struct known_judge *judge, const struct known_cause *cause,
		    const struct causes *causes, const struct group *group)
{
	for (size_t i = 0; i < group->nr_seen; i++) {
		if (is_one(judge, cause, &group_seen(causes, group, i)->fingerprint))
			return true;
	}
	return false;
}

static bool is_worse(const struct known_judge *judge, const struct known_cause *cause,
		     uint64_t worst_ns)
{
	return cause->worst_ns &&
	       (double)worst_ns >
		       (double)cause->worst_ns * (100.0 + (double)judge->worse_percent) / 100.0;
}

enum known_state known_judge(const struct known_judge *judge, const struct causes *causes,
			     const struct group *group, const struct known_cause **cause)
{
	enum known_state state = KNOWN_NEW;

	*cause = NULL;
	for (size_t i = 0; i < judge->known->nr; i++) {
		const struct known_cause *one = &judge->known->causes[i];
		bool expired = *one->expires && strcmp(one->expires, judge->today) < 0;
		enum known_state found = expired				 ? KNOWN_NEW
					 : is_worse(judge, one, group->worst_ns) ? KNOWN_WORSE
										 : KNOWN_FINE;

		if ((*cause && found <= state) || !matches(judge, one, causes, group))
			continue;
		*cause = one;
		state = found;
	}
	return state;
}

static void put_string(FILE *file, const char *text)
{
	_cleanup_json_ json_object *value = json_text(text);

	fputs(json_object_to_json_string_ext(value, JSON_C_TO_STRING_NOSLASHESCAPE), file);
}

static void put_chain(FILE *file, const struct fingerprint *fingerprint)
{
	fputs(",\n      \"chain\": [", file);
	for (size_t i = 0; i < fingerprint->nr; i++) {
		fputs(i ? ", " : "", file);
		put_string(file, fingerprint->frames[i]);
	}
	fputc(']', file);
	if (!fingerprint->sender[0])
		return;
	fputs(",\n      \"sender\": ", file);
	put_string(file, fingerprint->sender);
}

static void put_cause(FILE *file, const struct known_cause *cause)
{
	fputs("    {\n      \"fingerprint\": ", file);
	put_string(file, cause->id ?: cause->pattern);
	if (cause->fingerprint.kind[0])
		put_chain(file, &cause->fingerprint);
	if (cause->worst_ns)
		fprintf(file, ",\n      \"worst\": \"%" PRIu64 ".%03uus\"", cause->worst_ns / 1000,
			(unsigned int)(cause->worst_ns % 1000));
	if (cause->count)
		fprintf(file, ",\n      \"count\": %" PRIu64, cause->count);
	if (*cause->expires)
		fprintf(file, ",\n      \"expires\": \"%s\"", cause->expires);
	if (cause->comment) {
		fputs(",\n      \"comment\": ", file);
		put_string(file, cause->comment);
	}
	fputs("\n    }", file);
}

static bool is_seen(const struct known_judge *judge, const struct known_cause *cause,
		    const struct causes *causes)
{
	for (size_t i = 0; i < causes->nr_groups; i++) {
		const struct known_cause *found;

		known_judge(judge, causes, &causes->groups[i], &found);
		if (found == cause && cause->id)
			return true;
	}
	return false;
}

/* The known cause of a group, updated by its captures. Patterns are kept separately. */
static struct known_cause renewed(const struct known_judge *judge, const struct causes *causes,
				  const struct group *group)
{
	const struct seen *seen = group_seen(causes, group, 0);
	struct known_cause cause = {
		.id = (char *)seen->fingerprint.id,
		.fingerprint = seen->fingerprint,
		.worst_ns = group->worst_ns,
		.count = group->count,
	};
	const struct known_cause *old;

	known_judge(judge, causes, group, &old);
	if (!old || !old->id)
		return cause;
	cause.comment = old->comment;
	memcpy(cause.expires, old->expires, sizeof(cause.expires));
	return cause;
}

int known_write(FILE *file, const struct known_judge *judge, const struct causes *causes)
{
	const char *separator = "";

	fprintf(file,
		"// Known causes of perf-poke-ctl causes --known. Edit it: see docs/causes.md.\n"
		"{\n  \"version\": %d,\n  \"causes\": [",
		FINGERPRINT_VERSION);
	for (size_t i = 0; i < causes->nr_groups; i++) {
		const struct known_cause cause = renewed(judge, causes, &causes->groups[i]);

		fprintf(file, "%s\n", separator);
		put_cause(file, &cause);
		separator = ",";
	}
	for (size_t i = 0; i < judge->known->nr; i++) {
		if (is_seen(judge, &judge->known->causes[i], causes))
			continue;
		fprintf(file, "%s\n", separator);
		put_cause(file, &judge->known->causes[i]);
		separator = ",";
	}
	fputs("\n  ]\n}\n", file);
	return ferror(file) ? -EIO : 0;
}
