/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef CTL_COMMANDS_EXPORT_H
#define CTL_COMMANDS_EXPORT_H

#include "export/export.h"

/* Returns as command_options(). The result refers to argv. */
int export_parse(struct export_args *args, struct console *con, int argc, char **argv) _must_check_;

#endif
