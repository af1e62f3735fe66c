/* SPDX-License-Identifier: GPL-2.0-only */
/* Places in the kernel's code that were patched while it was traced: which bytes they had, and
 * when. */
#ifndef DECODE_PATCHES_H
#define DECODE_PATCHES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "code/kcore.h"
#include "sideband/sideband.h"
#include "util.h"

struct patches;

/* Bytes that change. Sites do not overlap. */
struct patches_site {
	uint64_t start, end;
	uint64_t offset;  /* first version in the file; the others follow */
	size_t first, nr; /* of the changes */
	bool bare;	  /* unknown before the first change */
};

/* kcore: the bytes at any time; if it has none, a site begins with the first patch. -E2BIG: too
 * many. */
int patches_new(struct patches **ret, const struct sideband_kernel *kernel,
		const struct kcore *kcore) _must_check_;
void patches_free(struct patches *patches);

/* The site of an address; NULL: none, and *start and *end become the gap between sites. */
const struct patches_site *patches_find(const struct patches *patches, uint64_t address,
					uint64_t *start, uint64_t *end);

/* A file with the bytes of each version at site->offset + version * (site->end - site->start). */
const char *patches_path(const struct patches *patches);

/* The version of the site at `time`. Returns false if unknown. */
bool patches_version(const struct patches *patches, const struct patches_site *site, uint64_t time,
		     size_t *version);

/* The time of the next change after `time`. */
uint64_t patches_until(const struct patches *patches, uint64_t time);

#endif
