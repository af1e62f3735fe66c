/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/* Build ids: what tells whether a file is still the one that ran. */
#ifndef SHARED_BUILD_ID_H
#define SHARED_BUILD_ID_H

#include <stddef.h>
#include <stdint.h>

struct build_id {
	uint8_t size; /* 0: none */
	uint8_t bytes[20];
};

/* The one among the notes of the kernel or of an ELF file. */
struct build_id build_id_of_notes(const uint8_t *notes, size_t len);

/* Of an ELF file that is open to be read. */
struct build_id build_id_of_elf(int fd);

/* That of the vDSO of this process, which all others have too, but those of 32 bits. */
struct build_id build_id_of_vdso(void);

#endif
