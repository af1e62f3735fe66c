// SPDX-License-Identifier: GPL-2.0-only
/* JSON_TOKENER_STRICT differs between versions of json-c: 0.18 rejects non-ASCII strings and
 * integers of more than 64 bits, which others clamp. So json-c parses without it, and the rest is
 * checked here. */
#include "capture/json_strict.h"

#include <string.h>

#include "utf8.h"

#define BLANK " \t\r\n"
/* All characters that may occur outside strings. */
#define OUTSIDE BLANK "{}[]:,+-.0123456789Eaeflnrstu"

/* Returns the end of a string, or NULL at a control character. */
static const char *skip_string(const char *s)
{
	while (*++s != '"') {
		if (*s == '\\')
			s++;
		if ((unsigned char)*s < ' ')
			return NULL;
	}
	return s + 1;
}

const char *json_strict(const char *text)
{
	const char *s = text;
	uint32_t code;

	for (size_t length; *s; s += length) {
		length = utf8_decode(s, &code);
		if (!length)
			return "invalid UTF-8";
	}
	for (s = text; *s;) {
		if (*s == '"') {
			s = skip_string(s);
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
