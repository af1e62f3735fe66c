// SPDX-License-Identifier: GPL-2.0-only
#include "cli/json_line.h"

#include "printable.h"

json_object *json_line(const char *type)
{
	json_object *object = json_object_new_object();

	json_add_text(object, "type", type);
	return object;
}

/* json-c escapes only some of the characters that terminals interpret. The others occur in strings
 * only, so that they can be escaped as well. */
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

static char *line_text(json_object *object)
{
	const int flags = JSON_C_TO_STRING_PLAIN | JSON_C_TO_STRING_NOSLASHESCAPE;
	char *line = escape_json(json_object_to_json_string_ext(object, flags));

	json_object_put(object);
	return line;
}

static char *error_text(const char *message)
{
	json_object *object = json_line("error");

	json_add_text(object, "message", message);
	return line_text(object);
}

void json_print(struct console *con, json_object *object)
{
	_cleanup_free_ char *line = line_text(object);

	if (line)
		console_result(con, line);
}

void json_use(struct console *con, bool json)
{
	con->json = json ? error_text : NULL;
}
