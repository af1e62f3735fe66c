/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef CTL_CLI_TEXT_H
#define CTL_CLI_TEXT_H

#include "util.h"

/* Quotes a word for a shell where needed, into an allocated string. Characters that are unsafe on a
 * terminal become $'\\ooo'. Returns 0 or -ENOMEM. */
int text_shell_word(const char *s, char **word) _must_check_;

#endif
