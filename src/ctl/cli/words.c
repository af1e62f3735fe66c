// SPDX-License-Identifier: GPL-2.0-only
#include "cli/cli.h"

#include <stdarg.h>
#include <stdbool.h>
#include <string.h>

#include "text.h"

void words_add(struct words *words, const char *format, ...)
{
	char **grown = reallocarray(words->argv, words->nr + 2, sizeof(*grown));
	va_list args;

	if (!grown) {
		words->failed = true;
		return;
	}
	words->argv = grown;
	va_start(args, format);
	if (vasprintf(&grown[words->nr], format, args) < 0)
		words->failed = true;
	else
		words->nr++;
	va_end(args);
	grown[words->nr] = NULL;
}

int words_take(struct words *words, char ***argv)
{
	if (words->failed)
		words_freep(&words->argv);
	else
		*argv = TAKE_PTR(words->argv);
	return words->failed ? -ENOMEM : 0;
}

void words_freep(char ***argv)
{
	for (char **word = *argv; word && *word; word++)
		free(*word);
	free(*argv);
	*argv = NULL;
}

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
