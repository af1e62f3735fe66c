// SPDX-License-Identifier: GPL-2.0-only
#include <signal.h>

#include "commands/commands.h"

int main(int argc, char **argv)
{
	/* If the caller ignores SIGCHLD, the kernel discards the exit status of our children. */
	signal(SIGCHLD, SIG_DFL);
	return command_dispatch(commands, argc, argv);
}
