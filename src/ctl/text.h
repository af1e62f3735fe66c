/* SPDX-License-Identifier: GPL-2.0-only */
/* Text from elsewhere (names of tasks, paths, messages) made safe for where it goes. */
#ifndef CTL_TEXT_H
#define CTL_TEXT_H

#include "util.h"

/* Replaces control characters by spaces in place: one line, and no escape sequence. Returns s. */
char *text_printable(char *s);

/* One word of a shell command, quoted only where it has to be; for the caller to free. Returns 0 or
 * -ENOMEM. */
int text_shell_word(const char *s, char **word) _must_check_;

#endif
