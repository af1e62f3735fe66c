/* SPDX-License-Identifier: GPL-2.0-only */
/* fingerprint.json of a capture caches the fingerprint of its cause: decoding takes long. */
#ifndef CTL_CAPTURE_FINGERPRINT_FILE_H
#define CTL_CAPTURE_FINGERPRINT_FILE_H

#include "account/account.h"

#define FINGERPRINT_FILE_NAME "fingerprint.json"

struct fingerprint_file {
	struct fingerprint fingerprint; /* empty kind: the capture has none */
	char sentence[512];		/* of the report */
};

/* Returns 0, -ENOENT if there is none or one of another version, -EINVAL if it is no such file,
 * or another negative errno. */
int fingerprint_file_read(struct fingerprint_file *file, int dirfd) _must_check_;

/* Replaces it atomically, unless the folder is read-only. Returns 0 or a negative errno. */
int fingerprint_file_write(int dirfd, const struct account *account);

#endif
