/* SPDX-License-Identifier: GPL-2.0-only */
/* Puts the files that were traced into an archive, as a folder for perf's --buildid-dir. */
#ifndef CTL_BUNDLE_BINARIES_H
#define CTL_BUNDLE_BINARIES_H

#include "build_id.h"
#include "bundle/pack.h"
#include "cli/console.h"

struct binaries {
	struct pack *pack;
	int dirfd;			 /* of the capture, which is in the archive */
	struct console *con;		 /* is told of what there is not */
	const struct build_id *executed; /* those only; NULL: all */
	size_t nr_executed;
	size_t nr; /* that are in it; symbols of their own do not count */
};

/* Those that the perf.data file names. Returns 0, or a negative errno with or without *why, for the
 * caller to free. */
int binaries_pack(struct binaries *binaries, int fd, char **why) _must_check_;

#endif
