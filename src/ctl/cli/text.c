// SPDX-License-Identifier: GPL-2.0-only
#include "cli/text.h"

#include <stdbool.h>
#include <string.h>

#include "printable.h"
#include "utf8.h"

static bool is_printable(const char *s)
{
	size_t length;
	uint32_t code;

	for (; *s; s += length) {
		length = utf8_decode(s, &code);
		if (!length || !printable_code(code))
			return false;
	}
	return true;
}

static int escape_word(const char *s, char **word)
{
	char *end = malloc(4 * strlen(s) + sizeof("$''"));

	if (!end)
		return -ENOMEM;
	*word = end;
	end = stpcpy(end, "$'");
	for (; *s; s++) {
		if (*s < ' ' || *s > '~' || *s == '\'' || *s == '\\')
			end += sprintf(end, "\\%03o", (unsigned char)*s);
		else
			*end++ = *s;
	}
	stpcpy(end, "'");
	return 0;
}

int text_shell_word(const char *s, char **word)
{
	static const char plain[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
				    "0123456789_-./,:=@%+";
	size_t length = strlen(s);
	char *quoted, *end;

	if (!is_printable(s))
		return escape_word(s, word);

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
