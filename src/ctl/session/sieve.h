/* SPDX-License-Identifier: GPL-2.0-only */
/* Finds the causes of captures and, with --known, whether they are new: runs `causes` in a separate
 * process, one capture at a time, so that decoding delays no snapshot. */
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
	const char *known; /* file of known causes; NULL: every cause is reported alike */
};

struct sieve {
	struct sieve_opts opts;
	char **paths; /* captures; the first one is being judged */
	size_t nr;
	int pidfd;	    /* of the judging process; -1: none */
	int output, errors; /* its standard output and error */
};

/* Copies the path. Returns 0 or a negative errno. */
int sieve_add(struct sieve *sieve, const char *path) _must_check_;

/* Call when pidfd is readable: takes the verdict on *path (allocated), and starts on the next
 * capture. *cause is the object of `causes --json`, or NULL without a cause. *why (allocated) is
 * why there is no verdict; NULL: unknown. Returns 0, -EAGAIN without a verdict yet, or another
 * negative errno. */
int sieve_next(struct sieve *sieve, char **path, enum sieve_verdict *verdict, json_object **cause,
	       char **why) _must_check_;

/* Kills the judging process. Captures without a verdict stay. */
void sieve_release(struct sieve *sieve);

#endif
