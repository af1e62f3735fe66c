/* SPDX-License-Identifier: GPL-2.0-only */
/* Finds captures in folders and archives, and their causes. */
#ifndef CTL_CAUSES_COLLECT_H
#define CTL_CAUSES_COLLECT_H

#include "causes/groups.h"
#include "cli/cli.h"

/* Adds a capture, all captures below a folder, or those of an archive. Prints and counts unreadable
 * ones. Returns 0 or -ENOMEM. */
int collect(struct causes *causes, struct console *con, const char *path) _must_check_;

#endif
