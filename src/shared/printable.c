// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
#include "printable.h"

#include <stdio.h>
#include <string.h>

#include "utf8.h"
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

bool printable_code(uint32_t code)
{
	for (size_t i = 0; i < ARRAY_SIZE(unsafe); i++) {
		if (code >= unsafe[i].first && code <= unsafe[i].last)
			return false;
	}
	return true;
}

char *printable(char *s)
{
	const char *from = s;
	char *to = s;
	uint32_t code;

	while (*from) {
		size_t length = utf8_decode(from, &code);

		if (length && printable_code(code)) {
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

const char *printable_copy(char *buf, size_t size, const char *text)
{
	snprintf(buf, size, "%.*s", (int)size - 1, text);
	return printable(buf);
}
