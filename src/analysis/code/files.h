/* SPDX-License-Identifier: GPL-2.0-only */
/* Finds traced files of user space. Files are accepted only with the recorded build ID. */
#ifndef DECODE_FILES_H
#define DECODE_FILES_H

#include "build_id.h"
#include "util.h"

struct files_places {
	const char *buildid_dir; /* searched first, laid out like perf's ~/.debug; NULL: none */
	const char *symfs;	 /* root of files searched by name; NULL: / */
};

struct files_wanted {
	const char *name;   /* in the traced task */
	struct build_id id; /* size 0: unknown */
};

/* Opens the file; *path is to be freed. Returns a descriptor, -ENOENT if not found, -ESTALE if its
 * path now has another file, or -ENOMEM. A path below /proc/self/fd needs the descriptor to stay
 * open. */
int files_open_wanted(const struct files_places *places, const struct files_wanted *wanted,
		      char **path) _must_check_;

/* Explains an error of files_open_wanted() to the user, to be freed. NULL if out of memory. */
char *files_explain_error(const struct files_places *places, const struct files_wanted *wanted,
			  int err);

/* Opens its separate debug file, if perf or an archive has kept one. Returns as above. */
int files_open_cached_debug(const struct files_places *places,
			    const struct files_wanted *wanted) _must_check_;

#endif
