/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The commands, one file each: options and control flow; the work is done in the other folders.
 * Only main.c includes this folder. A command may include all folders but no other command.
 */
#ifndef CTL_COMMANDS_COMMANDS_H
#define CTL_COMMANDS_COMMANDS_H

#include "cli/command.h"

extern const struct command command_start;
extern const struct command command_causes;
extern const struct command command_check;
extern const struct command command_export;
extern const struct command command_archive;
extern const struct command command_list;
extern const struct command command_open;
extern const struct command command_report;
extern const struct command command_script;
extern const struct command command_selftest;
extern const struct command command_status;
extern const struct command command_stop;
extern const struct command command_poke;
extern const struct command command_report_late;
extern const struct command command_complete;

/* NULL-terminated. */
extern const struct command *const commands[];

#endif
