/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/* The vDSO: code that the kernel maps into each process. */
#ifndef SHARED_VDSO_H
#define SHARED_VDSO_H

#include "build_id.h"
#include "util.h"

struct vdso {
	struct build_id id;
	const void *image; /* an ELF file */
	size_t size;
};

/* Finds the vDSO of this process, which every 64-bit process has. Returns 0, or -ENOENT if it is
 * missing or has no build id. */
int vdso_find(struct vdso *vdso) _must_check_;

#endif
