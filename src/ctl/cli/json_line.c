// SPDX-License-Identifier: GPL-2.0-only
#include "cli/json_line.h"

#include <stdio.h>
#include <string.h>

#include "printable.h"
#include "utf8.h"

json_object *json_line(const char *type)
{
	json_object *object = json_object_new_object();

	json_object_object_add(object, "type", json_object_new_string(type));
	return object;
}

void json_add_number(json_object *object, const char *key, uint64_t value)
{
	json_object_object_add(object, key, json_object_new_uint64(value));
}

void json_add_bool(json_object *object, const char *key, bool value)
{
	json_object_object_add(object, key, json_object_new_boolean(value));
}

json_object *json_new_string(const char *value)
{
	_cleanup_free_ char *copy = strdup(value);

	return copy ? json_object_new_string(utf8_repair(copy)) : NULL;
}

void json_add_string(json_object *object, const char *key, const char *value)
{
	json_object_object_add(object, key, value ? json_new_string(value) : NULL);
}

void json_add_name(json_object *object, const char *key, const char *name)
{
	json_add_string(object, key, *name ? name : NULL);
}

json_object *json_error(const char *message)
{
	json_object *object = json_line("error");

	json_add_string(object, "message", message);
	return object;
}

/* JSON escapes only some of what a terminal acts on. The rest is in strings, where it can be. */
static char *escape_json(const char *json)
{
	char *line = NULL;
	size_t size, length;
	FILE *file = open_memstream(&line, &size);
	uint32_t code;

	if (!file)
		return NULL;
	for (; *json; json += length) {
		length = utf8_decode(json, &code);
		if (length && printable_code(code))
			fwrite(json, 1, length, file);
		else if (length && code > UINT16_MAX)
			fprintf(file, "\\u%04x\\u%04x", 0xd7c0 + (code >> 10),
				0xdc00 | (code & 0x3ff));
		else if (length)
			fprintf(file, "\\u%04x", code);
		else
			fputc('?', file);
		length = length ?: 1;
	}
	fputc('\n', file);
	fclose(file);
	return line;
}

char *json_line_text(json_object *object)
{
	const int flags = JSON_C_TO_STRING_PLAIN | JSON_C_TO_STRING_NOSLASHESCAPE;
	char *line = escape_json(json_object_to_json_string_ext(object, flags));

	json_object_put(object);
	return line;
}
