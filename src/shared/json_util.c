// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
/* JSON_TOKENER_STRICT differs between versions of json-c: 0.18 rejects non-ASCII strings, and
 * integers over 64 bits, which others clamp. So json-c parses without it, and the rest is checked
 * here. */
#include "json_util.h"

#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "clock.h"
#include "io.h"
#include "text.h"
#include "units.h"

#define MAX_DEPTH 16

#define BLANK " \t\r\n"
/* All characters that may occur outside of strings. */
#define OUTSIDE BLANK "{}[]:,+-.0123456789Eaeflnrstu"

/* Returns the end of a string, or NULL at a control character. */
static const char *skip_json_string(const char *s)
{
	while (*++s != '"') {
		if (*s == '\\')
			s++;
		if ((unsigned char)*s < ' ')
			return NULL;
	}
	return s + 1;
}

/* *at is the position. */
static const char *why_not_strict_json(const char *text, size_t *at)
{
	const char *s = text;
	uint32_t code;

	for (size_t length; *s; s += length) {
		*at = (size_t)(s - text);
		length = utf8_decode_character(s, &code);
		if (!length)
			return "invalid UTF-8";
	}
	for (s = text; *s;) {
		*at = (size_t)(s - text);
		if (*s == '"') {
			s = skip_json_string(s);
			if (!s)
				return "control character in a string";
			continue;
		}
		if (!strchr(OUTSIDE, *s))
			return "unquoted character";
		if (*s++ == ',' && strchr("]}", s[strspn(s, BLANK)]))
			return "trailing comma";
	}
	return NULL;
}

static void tokener_freep(json_tokener **tokener)
{
	if (*tokener)
		json_tokener_free(*tokener);
}

/* NULL if missing. */
static json_object *find_json_member(json_object *from, const char *name)
{
	json_object *member = NULL;

	if (!json_object_is_type(from, json_type_array))
		json_object_object_get_ex(from, name, &member);
	else if (*name && !name[strspn(name, "0123456789")])
		member = json_object_array_get_idx(from, strtoul(name, NULL, 10));
	return member;
}

json_object *json_find_value(json_object *from, const char *path)
{
	char name[32];

	while (*path && from) {
		size_t length = strcspn(path, ".");

		if (length >= sizeof(name))
			return NULL;
		snprintf(name, sizeof(name), "%.*s", (int)length, path);
		from = find_json_member(from, name);
		path += length + (path[length] == '.');
	}
	return from;
}

json_object *json_find_typed(json_object *from, const char *path, json_type type)
{
	json_object *value = json_find_value(from, path);

	return json_object_is_type(value, type) ? value : NULL;
}

const char *json_text_of(json_object *from, const char *path)
{
	return json_object_get_string(json_find_typed(from, path, json_type_string)) ?: "";
}

/* json-c turns a number that overflows into INT64_MAX, so that value is rejected as well. */
bool json_read_number(json_object *value, uint64_t *number)
{
	int64_t found =
		json_object_is_type(value, json_type_int) ? json_object_get_int64(value) : -1;

	*number = (uint64_t)found;
	return found >= 0 && found < INT64_MAX;
}

bool json_read_task_id(json_object *value, int *id)
{
	*id = json_object_is_type(value, json_type_int) ? json_object_get_int(value) : -1;
	return *id >= 0 && *id < INT_MAX;
}

int json_read_date(json_object *json, const char *path, uint64_t *wall_ns, char **why)
{
	json_object *value = json_find_value(json, path);
	const char *text = json_text_of(json, path), *end;
	unsigned int us = 0;
	struct tm tm = { 0 };
	int length = -1;
	time_t seconds;

	if (!value)
		return 0;
	end = strptime(text, "%Y-%m-%dT%H:%M:%S", &tm);
	/* %6u alone would accept blanks and signs. */
	if (end && end[0] == '.' && strspn(end + 1, "0123456789") == 6)
		sscanf(end + 1, "%6u%n", &us, &length);
	seconds = length == 6 ? timegm(&tm) : -1;
	if (seconds < 0 || strcmp(end + 7, "Z"))
		return say_why(why, -EINVAL, "%s is not a date", path);
	*wall_ns = (uint64_t)seconds * NSEC_PER_SEC + us * UINT64_C(1000);
	return 0;
}

int json_file_parse(json_object **json, const char *text, size_t size, char **why)
{
	_cleanup_(tokener_freep) json_tokener *tokener = json_tokener_new_ex(MAX_DEPTH);
	enum json_tokener_error error;
	const char *wrong = NULL;
	size_t at, line = 1;

	*json = NULL;
	if (!tokener)
		return -ENOMEM;
	if (size > JSON_FILE_MAX_SIZE)
		return say_why(why, -EINVAL, "larger than %s", FORMAT_SIZE(JSON_FILE_MAX_SIZE));
	if (memchr(text, '\0', size))
		return say_why(why, -EINVAL, "not JSON: contains a NUL");
	/* The NUL ends the text. */
	*json = json_tokener_parse_ex(tokener, text, (int)size + 1);
	error = json_tokener_get_error(tokener);
	at = json_tokener_get_parse_end(tokener);
	if (error == json_tokener_continue)
		wrong = "truncated";
	else if (error != json_tokener_success)
		wrong = json_tokener_error_desc(error);
	else if (at < size && text[at + strspn(text + at, BLANK)])
		wrong = "data after the end";
	wrong = wrong ?: why_not_strict_json(text, &at);
	if (!wrong)
		return 0;
	for (size_t i = 0; i < at && text[i]; i++)
		line += text[i] == '\n';
	return say_why(why, -EINVAL, "not JSON: %s in line %zu", wrong, line);
}

int json_file_read(json_object **json, int dirfd, const char *name, char **why)
{
	_cleanup_close_ int fd = regular_open(dirfd, name);
	_cleanup_free_ char *text = NULL;
	size_t size;
	ssize_t n;

	*json = NULL;
	if (fd == -EINVAL)
		return say_why(why, fd, "%s", regular_strerror(fd));
	if (fd < 0)
		return fd;
	text = malloc(JSON_FILE_MAX_SIZE + 2);
	if (!text)
		return -ENOMEM;
	for (size = 0; size <= JSON_FILE_MAX_SIZE; size += (size_t)n) {
		n = read(fd, text + size, JSON_FILE_MAX_SIZE + 1 - size);
		if (n < 0)
			return -errno;
		if (!n)
			break;
	}
	if (!size)
		return say_why(why, -EINVAL, "empty file");
	text[size] = '\0';
	return json_file_parse(json, text, size, why);
}
