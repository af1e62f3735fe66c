// SPDX-License-Identifier: GPL-2.0-only
#include <signal.h>

#include "commands/commands.h"

int main(int argc, char **argv)
{
	/* Where the caller ignores it, the kernel forgets how our children end, and who they were.
	 */
	signal(SIGCHLD, SIG_DFL);
	return command_dispatch(commands, argc, argv);
}
