// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
#include "utf8.h"

#include <stddef.h>

/* Bytes of the UTF-8 sequence at s; 0 if it is not one, so also for overlong forms and surrogates.
 */
static size_t utf8_length(const unsigned char *s)
{
	size_t length;

	if (s[0] < 0x80)
		return 1;
	else if (s[0] >= 0xc2 && s[0] <= 0xdf)
		length = 2;
	else if (s[0] >= 0xe0 && s[0] <= 0xef)
		length = 3;
	else if (s[0] >= 0xf0 && s[0] <= 0xf4)
		length = 4;
	else
		return 0;
	for (size_t i = 1; i < length; i++) {
		if ((s[i] & 0xc0) != 0x80)
			return 0;
	}
	if ((s[0] == 0xe0 && s[1] < 0xa0) || (s[0] == 0xed && s[1] > 0x9f) ||
	    (s[0] == 0xf0 && s[1] < 0x90) || (s[0] == 0xf4 && s[1] > 0x8f))
		return 0;
	return length;
}

char *utf8_repair(char *s)
{
	for (unsigned char *c = (unsigned char *)s; *c;) {
		size_t length = utf8_length(c);

		if (!length)
			*c = '?';
		c += length ?: 1;
	}
	return s;
}
