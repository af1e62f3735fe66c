/* SPDX-License-Identifier: GPL-2.0-only */
/* What perf script --dlarg NAME=VALUE asks for. */
#ifndef DLFILTER_ARGS_H
#define DLFILTER_ARGS_H

#include "calls.h"

struct args {
	const char *output;
	const char *events; /* instead of it: a file of stream.h; or NULL */
	struct timeline_opts timeline;
	struct calls_opts calls;
	int cpu;      /* negative: all */
	int progress; /* a descriptor, or negative */
};

/* Returns 0, or a negative errno with *why, for the caller to free. The result refers to argv. */
int args_parse(struct args *args, int argc, char **argv, char **why) _must_check_;

#endif
