/* SPDX-License-Identifier: GPL-2.0-only */
/* Where the files of user space are that were traced. Only one with the build id that was recorded
 * is the one that was traced. */
#ifndef DECODE_FILES_H
#define DECODE_FILES_H

#include "build_id.h"
#include "util.h"

#define FILES_HEX_SIZE (2 * sizeof(((struct build_id *)NULL)->bytes) + 1)

struct files_places {
	const char *buildid_dir; /* looked into first, as perf's ~/.debug; NULL: none */
	const char *symfs;	 /* what is found by name is below it; NULL: / */
};

struct files_wanted {
	const char *name;   /* as the traced task had it */
	struct build_id id; /* size 0: not known */
};

/* As hexadecimal text. */
void files_hex(const struct build_id *id, char hex[FILES_HEX_SIZE]);

/* The file, and its path for the caller to free. Returns an open descriptor, -ENOENT if it is
 * nowhere, -ESTALE if there is another one under its name now, or -ENOMEM. A path below
 * /proc/self/fd is of the descriptor, which is to be kept then. */
int files_open(const struct files_places *places, const struct files_wanted *wanted,
	       char **path) _must_check_;

/* Where it was looked for in vain, for a person; for the caller to free. err: of files_open(). NULL
 * if there is no memory. */
char *files_why(const struct files_places *places, const struct files_wanted *wanted, int err);

/* Its symbols, where they are in a file of their own. Returns as above. */
int files_open_debug(const struct files_places *places, const struct files_wanted *wanted,
		     int fd) _must_check_;

#endif
