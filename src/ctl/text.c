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
