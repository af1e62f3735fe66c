/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/* The code that the kernel maps into each process, which is in no file. */
#ifndef SHARED_VDSO_H
#define SHARED_VDSO_H

#include "build_id.h"
#include "util.h"

struct vdso {
	struct build_id id;
	const void *image; /* an ELF file */
	size_t size;
};

/* That of this process, which all others have too, but those of 32 bits. -ENOENT if there is none,
 * or it has no build id. */
int vdso_find(struct vdso *vdso) _must_check_;

#endif
