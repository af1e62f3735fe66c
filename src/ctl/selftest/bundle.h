/* SPDX-License-Identifier: GPL-2.0-only */
/* The archive of a selftest, for bug reports. */
#ifndef CTL_SELFTEST_BUNDLE_H
#define CTL_SELFTEST_BUNDLE_H

#include "cli/console.h"

struct bundle {
	char *const *lines;    /* output of --json and of `check --json` */
	char *const *messages; /* of sessions and decoding */
	char **captures;       /* folders */
	size_t nr;
};

/* Adds facts of this machine. Returns 0, or a negative errno after printing the error. */
int bundle_write(const struct bundle *bundle, struct console *con, const char *path,
		 bool force) _must_check_;

#endif
