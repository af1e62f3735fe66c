/* SPDX-License-Identifier: GPL-2.0-only */
/* The command `causes`. */
#ifndef CTL_COMMANDS_CAUSES_H
#define CTL_COMMANDS_CAUSES_H

#include "causes/collect.h"
#include "cli/cli.h"

struct causes_args {
	const char **paths; /* to be freed */
	size_t nr_paths;
	struct collect_opts collect;
	double similarity;
	uint64_t worse_percent;
	const char *known; /* or NULL */
	const char *save;  /* or NULL */
	const char *html;  /* or NULL */
	const char *sql;   /* URL of a database, or NULL */
	bool force;
	bool json;
};

/* Returns as command_options(). Strings are not copied. */
int causes_parse(struct causes_args *args, struct console *con, int argc, char **argv) _must_check_;

#endif
