/* SPDX-License-Identifier: GPL-2.0-only */
/* A folder of captures. */
#ifndef CTL_CAPTURE_FOLDER_H
#define CTL_CAPTURE_FOLDER_H

#include "capture/capture_file.h"
#include "cli/console.h"

/* The default of start's --output. */
#define FOLDER_DEFAULT "perf-poke.data"
#define FOLDER_CAPTURE_HELP                                                                        \
	"folder of a capture, or of captures: the newest one\n(" FOLDER_DEFAULT ")"

struct folder_entry {
	const char *name;
	int dirfd;		  /* negative: cannot be opened */
	int err;		  /* negative errno: the capture cannot be read */
	char *why;		  /* or NULL */
	struct capture_file file; /* if err is 0 */
};

/* Reads the capture.json of each subfolder; hidden ones are being written. A result of take() other
 * than 0 ends the walk and is returned. Else returns 0 or a negative errno. */
int folder_each(int dirfd, int (*take)(void *ctx, const struct folder_entry *entry),
		void *ctx) _must_check_;

/* Chooses the capture of a command: `word`, or the newest in it if it is a folder of captures; NULL
 * is FOLDER_DEFAULT. Returns 0 with *path (allocated), or a negative errno after printing the
 * error. */
int folder_choose(struct console *con, const char *word, char **path) _must_check_;

/* Finds the capture of a poke by its sequence number. Returns 0 with *path (allocated), or a
 * negative errno: -ENOENT if there is none. */
int folder_poked(const char *folder, uint64_t sequence, char **path) _must_check_;

#endif
