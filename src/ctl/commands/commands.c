// SPDX-License-Identifier: GPL-2.0-only
#include "commands/commands.h"

#include <stddef.h>

const struct command *const commands[] = {
	&command_start,	      &command_status,	 &command_stop,	    &command_poke,
	&command_report_late, &command_list,	 &command_report,   &command_causes,
	&command_script,      &command_export,	 &command_archive,  &command_open,
	&command_check,	      &command_selftest, &command_complete, NULL,
};
