/* SPDX-License-Identifier: GPL-2.0-only */
/* A folder for what another program hands over and nobody keeps. */
#ifndef CTL_TEMPORARY_H
#define CTL_TEMPORARY_H

#include "console.h"

/* Makes one in $TMPDIR, and the path of a file that may be made in it. Returns 0, or -EIO: it has
 * said why not. */
int temporary_make(struct console *con, char **folder, const char *name, char **file) _must_check_;

/* Removes it with all that is in it, and frees its path; for the cleanup attribute. */
void temporary_remove(char **folder);

#endif
