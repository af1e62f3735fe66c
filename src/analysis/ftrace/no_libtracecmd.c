// SPDX-License-Identifier: GPL-2.0-only
/* Instead of trace_dat_child.c in builds without libtracecmd. */
#include "ftrace/trace_dat.h"

bool trace_dat_is_built(void)
{
	return false;
}

int trace_dat_child(int file, int image, const struct trace_dat_opts *opts)
{
	(void)file;
	(void)image;
	(void)opts;
	return TRACE_DAT_NOT_BUILT;
}
