// SPDX-License-Identifier: GPL-2.0-only
#include <signal.h>

#include "cli/command.h"

int main(int argc, char **argv)
{
	static const struct command *const commands[] = {
		&command_start,
		&command_status,
		&command_stop,
		&command_poke,
		&command_list,
		&command_report,
		&command_script,
		&command_export,
		&command_archive,
		&command_open,
		&command_check,
		&command_selftest,
		NULL,
	};

	/* Where the caller ignores it, the kernel forgets how our children end, and who they were.
	 */
	signal(SIGCHLD, SIG_DFL);
	return command_dispatch(commands, argc, argv);
}
