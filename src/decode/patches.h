/* SPDX-License-Identifier: GPL-2.0-only */
/* Places of the kernel's code that were patched while it was traced: what was there, and when. */
#ifndef DECODE_PATCHES_H
#define DECODE_PATCHES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "kcore.h"
#include "sideband.h"
#include "util.h"

struct patches;

/* Bytes that change. None overlap. */
struct patches_site {
	uint64_t start, end;
	uint64_t offset;  /* of the first version in the file; the others follow */
	size_t first, nr; /* of the changes */
	bool bare;	  /* nothing is known of it before the first change */
};

/* kcore: its bytes at any time; where it has none, a site begins with what is patched in. -E2BIG:
 * there are too many. */
int patches_new(struct patches **ret, const struct sideband_kernel *kernel,
		const struct kcore *kcore) _must_check_;
void patches_free(struct patches *patches);

/* The site of an address; NULL: none. *start and *end are made the part between sites, if so. */
const struct patches_site *patches_find(const struct patches *patches, uint64_t address,
					uint64_t *start, uint64_t *end);

/* A file that has the bytes of a version at site->offset + version * (site->end - site->start). */
const char *patches_path(const struct patches *patches);

/* What an address of the site has at `time`. Returns false if that is not known. */
bool patches_version(const struct patches *patches, const struct patches_site *site, uint64_t time,
		     size_t *version);

/* When something changes after `time`. */
uint64_t patches_until(const struct patches *patches, uint64_t time);

#endif
