/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/* Takes captures away again: at once, so that nobody sees half of one, and nothing but what the
 * session has written. */
#ifndef LIB_REMOVAL_H
#define LIB_REMOVAL_H

#include "keep.h"

struct removal {
	struct removal *next;
	int fd;		  /* the folder itself */
	char partial[64]; /* its name from now on */
};

/* It has the name of what is not complete then. -ENOENT: it is not there any more; -ESTALE: what
 * has its name is another, and is left alone. */
int removal_begin(struct removal **ret, int output_fd, const struct kept *kept);

/* Frees it. What cannot be removed is swept later, by its name. Any thread. */
void removal_end(int output_fd, struct removal *removal);

#endif
