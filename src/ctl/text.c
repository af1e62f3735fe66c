// SPDX-License-Identifier: GPL-2.0-only
#include "text.h"

#include <string.h>

char *text_printable(char *s)
{
	for (char *c = s; *c; c++) {
		if ((unsigned char)*c < ' ' || *c == '\177')
			*c = ' ';
	}
	return s;
}

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

char *text_utf8(char *s)
{
	for (unsigned char *c = (unsigned char *)s; *c;) {
		size_t length = utf8_length(c);

		if (!length)
			*c = '?';
		c += length ?: 1;
	}
	return s;
}

int text_shell_word(const char *s, char **word)
{
	static const char plain[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
				    "0123456789_-./,:=@%+";
	size_t length = strlen(s);
	char *quoted, *end;

	if (length && strspn(s, plain) == length) {
		*word = strdup(s);
		return *word ? 0 : -ENOMEM;
	}
	/* The worst is a quote: the string is closed, an escaped quote follows, it is opened again.
	 */
	quoted = malloc(4 * length + 3);
	if (!quoted)
		return -ENOMEM;
	end = stpcpy(quoted, "'");
	for (; *s; s++) {
		if (*s == '\'')
			end = stpcpy(end, "'\\''");
		else
			*end++ = *s;
	}
	stpcpy(end, "'");
	*word = quoted;
	return 0;
}
