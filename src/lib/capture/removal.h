/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/* Removes captures of this session, and nothing else. A capture is renamed before deletion, so
 * partial ones are never visible. */
#ifndef LIB_CAPTURE_REMOVAL_H
#define LIB_CAPTURE_REMOVAL_H

#include "capture/keep.h"
#include "capture/output.h"

struct removal {
	struct removal *next;
	const struct output *output;
	int fd;		  /* the folder itself */
	char partial[32]; /* new name in the work folder */
};

/* Moves it to the work folder. -ENOENT: it is gone; -ESTALE: another folder has its name, and
 * stays. */
int removal_begin(struct removal **ret, const struct output *output, const struct kept *kept);

/* Deletes it. What cannot be deleted goes with the work folder. Any thread. */
void removal_end(struct removal *removal);

#endif
