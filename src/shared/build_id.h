/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/* GNU build ids, which identify the exact binary that ran. */
#ifndef SHARED_BUILD_ID_H
#define SHARED_BUILD_ID_H

#include <stddef.h>
#include <stdint.h>

struct build_id {
	uint8_t size; /* 0: none */
	uint8_t bytes[20];
};

/* From ELF notes: those of a file, or /sys/kernel/notes. */
struct build_id build_id_of_notes(const uint8_t *notes, size_t len);

struct build_id build_id_of_elf(int fd);

#endif
