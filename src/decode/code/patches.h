/* SPDX-License-Identifier: GPL-2.0-only */
/* Places in kernel code that were patched during the trace: their bytes at any time. */
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
	uint64_t offset;  /* of the first version in the file; others follow */
	size_t first, nr; /* of the changes */
	bool bare;	  /* unknown before the first change */
};

/* kcore has the original bytes; without them, a site begins with its first patch. -E2BIG: too many
 * sites. */
int patches_new(struct patches **ret, const struct sideband_kernel *kernel,
		const struct kcore *kcore) _must_check_;
void patches_free(struct patches *patches);

/* The site at an address. NULL: none; then *start and *end are the gap between sites. */
const struct patches_site *patches_find(const struct patches *patches, uint64_t address,
					uint64_t *start, uint64_t *end);

/* A file with each version's bytes at site->offset + version * (site->end - site->start). */
const char *patches_path(const struct patches *patches);

/* The version of a site at `time`. False: unknown. */
bool patches_version(const struct patches *patches, const struct patches_site *site, uint64_t time,
		     size_t *version);

/* Time of the next change after `time`. */
uint64_t patches_until(const struct patches *patches, uint64_t time);

#endif
