// SPDX-License-Identifier: GPL-2.0-only
#include "cli/text.h"

#include <stdbool.h>
#include <string.h>

#include "printable.h"
#include "strfmt.h"
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

/* As every shell reads it: each quote is outside of the quoted text. */
static int quote_word(const char *s, char **word)
{
	char *end = malloc(4 * strlen(s) + sizeof("''"));

	if (!end)
		return -ENOMEM;
	*word = end;
	*end++ = '\'';
	for (; *s; s++) {
		if (*s == '\'')
			end = stpcpy(end, "'\\'");
		*end++ = *s;
	}
	stpcpy(end, "'");
	return 0;
}

int text_shell_word(const char *s, char **word)
{
	static const char plain[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
				    "0123456789_-./,:=@%+";
	bool is_plain = *s && !s[strspn(s, plain)];

	if (!is_printable(s))
		return escape_word(s, word);
	if (!is_plain)
		return quote_word(s, word);
	*word = strdup(s);
	return *word ? 0 : -ENOMEM;
}
