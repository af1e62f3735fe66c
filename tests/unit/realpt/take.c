// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
/* Makes a capture of a recording that is repeated, and prints its folder:
 * take RECORDING OUTPUT TIMES */
#include <stdio.h>
#include <stdlib.h>

#include "replay.h"

int main(int argc, char **argv)
{
	struct replay replay;
	size_t largest = 0;
	char *path;

	if (argc != 4)
		return 2;
	replay_open(&replay, argv[1]);
	replay_repeat(&replay, atoi(argv[3]));
	for (size_t i = 0; i < replay.nr; i++)
		largest = replay.traces[i].len > largest ? replay.traces[i].len : largest;
	path = replay_capture(&replay, argv[2], largest, largest);
	puts(path);
	free(path);
	replay_close(&replay);
	return 0;
}
