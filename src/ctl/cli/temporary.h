/* SPDX-License-Identifier: GPL-2.0-only */
/* A folder for what another program hands over and nobody keeps. */
#ifndef CTL_CLI_TEMPORARY_H
#define CTL_CLI_TEMPORARY_H

#include "cli/console.h"
#include "cli/ending.h"

struct temporary {
	char *folder;
	char *file; /* the path of one that may be made in it */
	struct ending ending;
};

/* Makes one in $TMPDIR. Signals that ask to end are caught while it is there. Returns 0, or -EIO:
 * it has said why not, and nothing is to be removed. */
int temporary_make(struct temporary *temporary, struct console *con, const char *name) _must_check_;

/* Removes it with all that is in it. Returns 0, or -EINTR if the command was asked to end. */
int temporary_remove(struct temporary *temporary);

#endif
