/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/* Decides which captures to keep: the worst of each kind, within limits of number and size. */
#ifndef LIB_CAPTURE_KEEP_H
#define LIB_CAPTURE_KEEP_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

struct keep;

/* A complete capture. */
struct kept {
	unsigned int kind;
	uint64_t latency_ns;
	uint64_t size;	 /* bytes that no other capture shares */
	uint64_t shared; /* bytes shared with the others, counted once */
	char *name;	 /* in the folder for captures */
	/* The folder's identity: another may have taken its name. */
	dev_t dev;
	ino_t ino;
};

/* worst: captures of each kind; max_size: bytes of all; UINT64_MAX: no limit. */
int keep_new(struct keep **ret, uint64_t worst, uint64_t max_size);

/* The name is copied. */
int keep_add(struct keep *keep, const struct kept *kept);

/* Takes the capture with the smallest latency over a limit. The caller frees its name. False:
 * none. */
bool keep_drop(struct keep *keep, struct kept *dropped);

/* Latencies of this kind must exceed this to be kept. */
uint64_t keep_floor(const struct keep *keep, unsigned int kind);

/* NULL does nothing. */
void keep_free(struct keep *keep);

#endif
