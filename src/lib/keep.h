/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/* Which captures stay: the worst of each kind, as many as were asked for, and no more than the disk
 * may hold. */
#ifndef LIB_KEEP_H
#define LIB_KEEP_H

#include <stddef.h>
#include <stdint.h>

struct keep;

/* worst: how many of each kind; max_size: bytes of all; UINT64_MAX for no limit. */
int keep_new(struct keep **ret, uint64_t worst, uint64_t max_size);

/* A capture that is complete. */
int keep_add(struct keep *keep, unsigned int kind, uint64_t latency_ns, const char *name,
	     uint64_t size);

/* The name of one that is too many, the least; the caller's to free. NULL: there is none. */
char *keep_drop(struct keep *keep);

/* What a latency of this kind must exceed to be kept. */
uint64_t keep_floor(const struct keep *keep, unsigned int kind);

/* NULL does nothing. */
void keep_free(struct keep *keep);

#endif
