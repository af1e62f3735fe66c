// SPDX-License-Identifier: GPL-2.0-only
#include "cli/cli.h"

#include <stdarg.h>
#include <stdbool.h>
#include <string.h>

#include "text.h"

void argv_builder_add(struct argv_builder *builder, const char *format, ...)
{
	char **grown = reallocarray(builder->argv, builder->nr + 2, sizeof(*grown));
	va_list args;

	if (!grown) {
		builder->failed = true;
		return;
	}
	builder->argv = grown;
	va_start(args, format);
	if (vasprintf(&grown[builder->nr], format, args) < 0)
		builder->failed = true;
	else
		builder->nr++;
	va_end(args);
	grown[builder->nr] = NULL;
}

int argv_builder_finish(struct argv_builder *builder, char ***argv)
{
	if (builder->failed)
		argv_free_words(&builder->argv);
	else
		*argv = TAKE_PTR(builder->argv);
	return builder->failed ? -ENOMEM : 0;
}

void argv_free_words(char ***argv)
{
	for (char **word = *argv; word && *word; word++)
		free(*word);
	free(*argv);
	*argv = NULL;
}

static bool shell_word_is_printable(const char *s)
{
	size_t length;
	uint32_t code;

	for (; *s; s += length) {
		length = utf8_decode_character(s, &code);
		if (!length || !is_printable_code(code))
			return false;
	}
	return true;
}

static int shell_word_escape(const char *s, char **word)
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
static int shell_word_quote(const char *s, char **word)
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

	if (!shell_word_is_printable(s))
		return shell_word_escape(s, word);
	if (!is_plain)
		return shell_word_quote(s, word);
	*word = strdup(s);
	return *word ? 0 : -ENOMEM;
}
