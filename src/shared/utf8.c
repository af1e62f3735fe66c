// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
#include "utf8.h"

size_t utf8_decode(const char *s, uint32_t *code)
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

char *utf8_repair(char *s)
{
	uint32_t code;

	for (char *c = s; *c;) {
		size_t length = utf8_decode(c, &code);

		if (!length)
			*c = '?';
		c += length ?: 1;
	}
	return s;
}
