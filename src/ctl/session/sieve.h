/* SPDX-License-Identifier: GPL-2.0-only */
/* Finds the causes of captures, and with --known tells new ones from known ones: by `causes` in a
 * process of its own, one capture after another, so that decoding delays no snapshot. */
#ifndef CTL_SESSION_SIEVE_H
#define CTL_SESSION_SIEVE_H

#include <json-c/json.h>
#include <stdbool.h>
#include <stddef.h>

#include "util.h"

enum sieve_verdict {
	SIEVE_KNOWN,
	SIEVE_NEW, /* or worse */
	SIEVE_UNJUDGED,
};

struct sieve_opts {
	const char *known; /* the file; NULL: nothing is told apart */
	const char *worse; /* percent, as of causes --worse; or NULL */
};

struct sieve {
	struct sieve_opts opts;
	char **paths; /* captures; the first one is being judged */
	size_t nr;
	int pidfd;  /* of its judge; -1: none */
	int output; /* what that prints */
};

/* Copies the path. Returns 0 or a negative errno. */
int sieve_add(struct sieve *sieve, const char *path) _must_check_;

/* When pidfd is readable: takes the verdict on *path (allocated) and begins with the next capture.
 * *cause is the object of `causes --json`, or NULL if none was found. Returns 0, -EAGAIN if there
 * is none yet, or another negative errno. */
int sieve_next(struct sieve *sieve, char **path, enum sieve_verdict *verdict,
	       json_object **cause) _must_check_;

/* Kills the judge. Captures without a verdict stay. */
void sieve_release(struct sieve *sieve);

#endif
