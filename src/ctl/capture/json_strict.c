// SPDX-License-Identifier: GPL-2.0-only
/* JSON_TOKENER_STRICT means something else in each version of json-c: 0.18 refuses strings that are
 * not ASCII, and integers of more than 64 bits, which others read as the largest. So json-c parses
 * without it, and what it lets through then is refused here. */
#include "capture/json_strict.h"

#include <string.h>

#include "utf8.h"

#define BLANK " \t\r\n"
/* Outside of strings: punctuation, numbers, true, false and null. */
#define OUTSIDE BLANK "{}[]:,+-.0123456789Eaeflnrstu"

/* The first byte behind a string; NULL where there is a control character, or no end. */
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
			return "a byte that is not UTF-8";
	}
	for (s = text; *s;) {
		if (*s == '"') {
			s = skip_string(s);
			if (!s)
				return "a control character in a string";
			continue;
		}
		if (!strchr(OUTSIDE, *s))
			return "a character that belongs in a string";
		if (*s++ == ',' && strchr("]}", s[strspn(s, BLANK)]))
			return "a comma with no value after it";
	}
	return NULL;
}
