// SPDX-License-Identifier: GPL-2.0-only
#include "cli/words.h"

#include <stdarg.h>

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
