/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/* Which captures to keep: the worst of each kind, up to a number of captures and a number of bytes.
 */
#ifndef LIB_CAPTURE_KEEP_H
#define LIB_CAPTURE_KEEP_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

struct keep;

/* A capture that is complete. */
struct kept {
	unsigned int kind;
	uint64_t latency_ns;
	uint64_t size;	 /* bytes that are its own */
	uint64_t shared; /* bytes that it has in common with the others: counted once */
	char *name;	 /* in the folder for captures */
	/* By which its folder is known: another may have taken its name. */
	dev_t dev;
	ino_t ino;
};

/* worst: how many of each kind; max_size: bytes of all; UINT64_MAX for no limit. */
int keep_new(struct keep **ret, uint64_t worst, uint64_t max_size);

/* The name is copied. */
int keep_add(struct keep *keep, const struct kept *kept);

/* One that is too many, the least; its name is the caller's to free. false: there is none. */
bool keep_drop(struct keep *keep, struct kept *dropped);

/* What a latency of this kind must exceed to be kept. */
uint64_t keep_floor(const struct keep *keep, unsigned int kind);

/* NULL does nothing. */
void keep_free(struct keep *keep);

#endif
