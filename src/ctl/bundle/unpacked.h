/* SPDX-License-Identifier: GPL-2.0-only */
/* An archive in a temporary folder, for commands that read it once. */
#ifndef CTL_BUNDLE_UNPACKED_H
#define CTL_BUNDLE_UNPACKED_H

#include <stdint.h>

#include "cli/ending.h"
#include "cli/partial.h"

#define UNPACKED_MAX_SIZE (UINT64_C(16) << 30)

struct unpacked {
	struct partial partial; /* its path is the folder of the capture or selftest */
	struct ending ending;
};

/* Unpacks into TMPDIR. From here to unpacked_close(), to be called also on failure, the signals of
 * ending.h do not kill the process. Returns 0, or a negative errno with or without *why: -EINTR
 * after a signal. */
int unpacked_open(struct unpacked *unpacked, int fd, uint64_t max_size, char **why) _must_check_;

/* Removes the folder. */
void unpacked_close(struct unpacked *unpacked);

#endif
