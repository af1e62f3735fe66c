/* SPDX-License-Identifier: GPL-2.0-only */
/* The files whose code may be in a trace: which ones, by perf.data, and where they are here. */
#ifndef CTL_BUNDLE_TRACED_H
#define CTL_BUNDLE_TRACED_H

#include <stdbool.h>

#include "files.h"

struct traced_file {
	struct build_id id;
	bool is_vdso;
	char *name; /* as the traced task had it */
};

/* Those of user space in a perf.data file, by the table of build ids and by the records of what was
 * mapped, in the order of their build ids, each once. Returns 0, or a negative errno with *why, for
 * the caller to free. */
int traced_read(int fd, struct traced_file **files, size_t *nr, char **why) _must_check_;

void traced_free(struct traced_file *files, size_t nr);

/* The file itself: in perf's cache, or under its name; of the vDSO that of all. Returns an open
 * descriptor, -ENOENT if there is none, or -ESTALE if there is another one now. */
int traced_open(const struct traced_file *file);

/* Its symbols, where they are in a file of their own. Returns as above. */
int traced_open_debug(const struct traced_file *file, int fd);

#endif
