/* SPDX-License-Identifier: GPL-2.0-only */
/* Which capture a command means that names none. */
#ifndef CTL_CAPTURE_NEWEST_H
#define CTL_CAPTURE_NEWEST_H

#include <stdint.h>

#include "cli/console.h"

/* Where sessions put captures unless they are told otherwise. */
#define NEWEST_FOLDER "perf-poke.data"
#define NEWEST_HELP "folder of a capture, or of captures: the newest in it\n(" NEWEST_FOLDER ")"

/*
 * The folder of a capture, for the caller to free: `word` itself, or the newest capture in it where
 * it holds captures; NULL is NEWEST_FOLDER.
 *
 * Returns 0, or a negative errno and the error has been printed.
 */
int newest_choose(struct console *con, const char *word, char **folder) _must_check_;

/* The newest capture in the folder that was asked for by a poke, of this sequence number. Returns 0
 * or a negative errno; -ENOENT: there is none. */
int newest_poked(const char *folder, uint64_t sequence, char **path) _must_check_;

#endif
