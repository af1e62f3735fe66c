/* SPDX-License-Identifier: GPL-2.0-only */
/* The files whose code may be in a trace: listed by perf.data, found on this machine. */
#ifndef CTL_BUNDLE_TRACED_H
#define CTL_BUNDLE_TRACED_H

#include <stdbool.h>

#include "code/files.h"

struct traced_file {
	struct build_id id;
	bool is_vdso;
	char *name; /* path in the traced task */
};

/* Reads the user-space files of a perf.data from the build id table and the MMAP2 records: an
 * allocated array, sorted by build id, without duplicates. Returns 0, or a negative errno with *why
 * (allocated). */
int traced_read(int fd, struct traced_file **files, size_t *nr, char **why) _must_check_;

void traced_free(struct traced_file *files, size_t nr);

/* Opens the file in perf's cache or at its path. Returns a descriptor, -ENOENT, or -ESTALE if the
 * build id differs. */
int traced_open(const struct traced_file *file);

/* Opens its separate debug file. Returns as above. */
int traced_open_debug(const struct traced_file *file, int fd);

#endif
