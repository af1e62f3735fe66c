/* SPDX-License-Identifier: GPL-2.0-only */
/* A folder of captures. */
#ifndef CTL_CAPTURE_FOLDER_H
#define CTL_CAPTURE_FOLDER_H

#include "cli/cli.h"

/* The default of start's --output. */
#define FOLDER_DEFAULT "perf-poke.data"
#define FOLDER_CAPTURE_HELP                                                                        \
	"folder of a capture, or of captures: the newest one\n(" FOLDER_DEFAULT ")"

/* Chooses the capture of a command: `word`, or the newest in it if it is a folder of captures; NULL
 * is FOLDER_DEFAULT. Returns 0 with *path (allocated), or a negative errno after printing the
 * error. */
int folder_choose(struct console *con, const char *word, char **path) _must_check_;

/* Finds the capture of a poke by its sequence number. Returns 0 with *path (allocated), or a
 * negative errno: -ENOENT if there is none. */
int folder_poked(const char *folder, uint64_t sequence, char **path) _must_check_;

#endif
