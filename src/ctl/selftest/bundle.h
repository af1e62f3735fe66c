/* SPDX-License-Identifier: GPL-2.0-only */
/* What a self-test leaves for a bug report: one archive. */
#ifndef CTL_SELFTEST_BUNDLE_H
#define CTL_SELFTEST_BUNDLE_H

#include "cli/console.h"

struct bundle {
	char *const *lines;    /* as with --json, and those of `check --json` */
	char *const *messages; /* of the sessions, and of decoding */
	char **captures;       /* their folders */
	size_t nr;
};

/* Facts of this machine go in too. Returns 0, or a negative errno and the error has been printed.
 */
int bundle_write(const struct bundle *bundle, struct console *con, const char *path,
		 bool force) _must_check_;

#endif
