/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/* Recordings of real CPUs, in $PERF_POKE_REALPT or beside the checkout; not part of the project. */
#ifndef TESTS_REALPT_H
#define TESTS_REALPT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* AUX buffers with libipt 2.1's counts. Ends with an empty name. */
struct realpt_raw {
	const char *name;
	size_t size, packets, points; /* points: PSBs with a time */
};

extern const struct realpt_raw realpt_raws[];

/* Prints a message and returns false if there are none. */
bool realpt_find(const char *beside);

/* Path of one of the files; the caller frees it. */
char *realpt_path(const char *folder, const char *name);
/* Its content, likewise. Exits with a message if it is missing. */
uint8_t *realpt_read(const char *folder, const char *name, size_t *len);

#endif
