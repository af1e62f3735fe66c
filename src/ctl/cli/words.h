/* SPDX-License-Identifier: GPL-2.0-only */
/* Builds the argv of a command. */
#ifndef CTL_CLI_WORDS_H
#define CTL_CLI_WORDS_H

#include <stdbool.h>

#include "util.h"

/* All zero is empty. */
struct words {
	char **argv;
	size_t nr;
	bool failed;
};

/* Appends a word; a failure is reported by words_take(). */
void words_add(struct words *words, const char *format, ...) _printf_(2, 3);

/* Moves the NULL-terminated words to *argv, for words_freep(). Returns 0 or -ENOMEM. */
int words_take(struct words *words, char ***argv) _must_check_;

void words_freep(char ***argv);

#endif
