/* SPDX-License-Identifier: GPL-2.0-only */
/* Text from elsewhere made safe for where it goes. */
#ifndef CTL_CLI_TEXT_H
#define CTL_CLI_TEXT_H

#include "util.h"

/* One word of a shell command, quoted only where it has to be; for the caller to free. What a
 * terminal acts on is written as $'\\ooo', which a shell reads back. Returns 0 or -ENOMEM. */
int text_shell_word(const char *s, char **word) _must_check_;

#endif
