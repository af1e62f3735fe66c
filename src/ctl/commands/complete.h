/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef CTL_COMMANDS_COMPLETE_H
#define CTL_COMMANDS_COMPLETE_H

#include "cli/command.h"

/*
 * What a shell may offer for the last of argv's words, a line each, with a tab before what it
 * means: for the files in completion/. The words are what stands behind the program's name; a line
 * `:files` or `:folders` stands for the names that the shell knows itself.
 */
enum exit_code complete(struct console *con, const struct command *const *commands, int argc,
			char **argv);

#endif
