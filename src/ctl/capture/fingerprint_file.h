/* SPDX-License-Identifier: GPL-2.0-only */
/* fingerprint.json of a capture caches the fingerprint of its cause, and profile.json its profile,
 * which is larger and read only to compare: decoding takes long. */
#ifndef CTL_CAPTURE_FINGERPRINT_FILE_H
#define CTL_CAPTURE_FINGERPRINT_FILE_H

#include "profile/profile.h"

#define FINGERPRINT_FILE_NAME "fingerprint.json"
#define PROFILE_FILE_NAME "profile.json"

struct fingerprint_file {
	struct fingerprint fingerprint; /* empty kind: the capture has none */
	char sentence[512];		/* of the report */
};

/* Both return 0, -ENOENT if there is none or one of another version, -EINVAL if it is no such file,
 * or another negative errno. */
int fingerprint_file_read(struct fingerprint_file *file, int dirfd) _must_check_;
int profile_file_read(struct profile *profile, int dirfd) _must_check_;

/* Replaces each atomically, unless the folder is read-only. Returns 0 or a negative errno. */
int fingerprint_file_write(int dirfd, const struct account *account, const struct profile *profile);

#endif
