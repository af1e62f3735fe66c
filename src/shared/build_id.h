/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/* GNU build ids, which identify the exact binary that ran, and the vDSO. */
#ifndef SHARED_BUILD_ID_H
#define SHARED_BUILD_ID_H

#include <stddef.h>
#include <stdint.h>

#include "util.h"

/* GNU build ids, which identify the exact binary that ran. */
struct build_id {
	uint8_t size; /* 0: none */
	uint8_t bytes[20];
};

#define BUILD_ID_HEX_SIZE (2 * sizeof(((struct build_id *)NULL)->bytes) + 1)

/* Formats a build ID as hexadecimal text; "": none. */
void build_id_format(const struct build_id *id, char hex[BUILD_ID_HEX_SIZE]);

/* From ELF notes: those of a file, or /sys/kernel/notes. */
struct build_id build_id_of_notes(const uint8_t *notes, size_t len);

struct build_id build_id_of_elf(int fd);

/* The vDSO: code that the kernel maps into each process. */
struct vdso {
	struct build_id id;
	const void *image; /* an ELF file */
	size_t size;
};

/* Finds the vDSO of this process, which every 64-bit process has. Returns 0, or -ENOENT if it is
 * missing or has no build id. */
int vdso_find_own(struct vdso *vdso) _must_check_;

#endif
