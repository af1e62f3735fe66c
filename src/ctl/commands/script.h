/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef CTL_COMMANDS_SCRIPT_H
#define CTL_COMMANDS_SCRIPT_H

#include "script/script.h"

/* Returns as command_options(). The result refers to argv. */
int script_parse(struct script_args *args, struct console *con, int argc, char **argv) _must_check_;

#endif
