// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
#include "text.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "util.h"

/* Control characters (C0 and C1) start terminal sequences. The format characters listed here break
 * lines, reorder text or are invisible. */
static const struct {
	uint32_t first, last;
} unsafe[] = {
	{ 0x0, 0x1f },	    { 0x7f, 0x9f },	{ 0xad, 0xad },	      { 0x61c, 0x61c },
	{ 0x180e, 0x180e }, { 0x200b, 0x200f }, { 0x2028, 0x202e },   { 0x2060, 0x206f },
	{ 0xfeff, 0xfeff }, { 0xfff9, 0xfffb }, { 0xe0000, 0xe007f },
};

bool is_printable_code(uint32_t code)
{
	for (size_t i = 0; i < ARRAY_SIZE(unsafe); i++) {
		if (code >= unsafe[i].first && code <= unsafe[i].last)
			return false;
	}
	return true;
}

char *text_make_printable(char *s)
{
	const char *from = s;
	char *to = s;
	uint32_t code;

	while (*from) {
		size_t length = utf8_decode_character(from, &code);

		if (length && is_printable_code(code)) {
			memmove(to, from, length);
			to += length;
		} else {
			*to++ = length ? ' ' : '?';
		}
		from += length ?: 1;
	}
	*to = '\0';
	return s;
}

const char *text_copy_printable(char *buf, size_t size, const char *text)
{
	snprintf(buf, size, "%.*s", (int)size - 1, text);
	return text_make_printable(buf);
}

char *strfmt(const char *format, ...)
{
	char *text;
	va_list args;

	va_start(args, format);
	if (vasprintf(&text, format, args) < 0)
		text = NULL;
	va_end(args);
	return text;
}

size_t utf8_decode_character(const char *s, uint32_t *code)
{
	/* The smallest code point of each length; overlong encodings are invalid. */
	static const uint32_t smallest[] = { 0, 0, 0x80, 0x800, 0x10000 };
	unsigned char first = (unsigned char)s[0];
	size_t length = first < 0x80 ? 1 : first < 0xe0 ? 2 : first < 0xf0 ? 3 : 4;

	if (first >= 0xf8 || (first & 0xc0) == 0x80)
		return 0;
	*code = length == 1 ? first : first & (0x7f >> length);
	for (size_t i = 1; i < length; i++) {
		if ((s[i] & 0xc0) != 0x80)
			return 0;
		*code = *code << 6 | (s[i] & 0x3f);
	}
	/* Surrogates are invalid in UTF-8. */
	if (*code < smallest[length] || *code > 0x10ffff || (*code >= 0xd800 && *code <= 0xdfff))
		return 0;
	return length;
}

char *utf8_repair_text(char *s)
{
	uint32_t code;

	for (char *c = s; *c;) {
		size_t length = utf8_decode_character(c, &code);

		if (!length)
			*c = '?';
		c += length ?: 1;
	}
	return s;
}

int say_why(char **why, int err, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	if (vasprintf(why, format, args) < 0) {
		*why = NULL;
		err = -ENOMEM;
	} else {
		text_make_printable(*why);
	}
	va_end(args);
	return err;
}

void text_list_append(char **list, const char *item)
{
	char *longer = strfmt("%s%s%s", *list ?: "", *list ? ", " : "", item);

	free(*list);
	*list = longer;
}
