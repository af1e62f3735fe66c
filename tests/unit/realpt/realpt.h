/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/* Recordings of real CPUs, which are not part of the project: in the folder that PERF_POKE_REALPT
 * names, or beside the checkout. */
#ifndef TESTS_REALPT_H
#define TESTS_REALPT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* AUX buffers, and what libipt 2.1 counts in them. Ends with one that has no name. */
struct realpt_raw {
	const char *name;
	size_t size, packets, points; /* points: all with a time */
};

extern const struct realpt_raw realpt_raws[];

/* False: they are not there, and that has been printed. */
bool realpt_find(const char *beside);

/* Of one of their files, for the caller to free. */
char *realpt_path(const char *folder, const char *name);
/* What is in it, likewise. Exits with a message where it is not. */
uint8_t *realpt_read(const char *folder, const char *name, size_t *len);

#endif
