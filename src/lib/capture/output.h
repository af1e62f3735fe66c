/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/* The folder for captures. It is opened and checked once and stays open, so a session writes into
 * the folder that was checked even if the path changes. */
#ifndef LIB_CAPTURE_OUTPUT_H
#define LIB_CAPTURE_OUTPUT_H

#include <stdbool.h>
#include <sys/types.h>

#include "base/log.h"

/* How names of the folders begin in which sessions write what is not complete. */
#define OUTPUT_WORK ".session-"

struct output {
	const char *path; /* the caller's */
	uid_t owner;	  /* may own folders too, besides root and the caller; 0: nobody else */
	int fd;		  /* stays the same number when the folder is renewed */
	int work;	  /* the same, of a folder in it that is this session's alone */
	char work_name[40];
	bool made; /* by this session: removed if it stays empty */
};

/*
 * Opens the folder, makes it when missing, and removes what dead sessions have left half-written in
 * it. Folders that somebody else could exchange, or write to, are refused.
 *
 * The work folder is locked while the session lives, and closed to others: nobody but root, or the
 * same user, can take its lock.
 */
int output_open(struct output *output, const char *path, uid_t owner, const struct log *log);

/* Makes the folder again if its path does not lead to it any more. Returns 1 if so, and *note is a
 * message for the caller to free. Any thread, but one at a time. */
int output_renew(struct output *output, char **note);

/* Where the folder is now, if its path does not lead to it any more: for the caller to free. NULL:
 * it does. */
char *output_moved(const struct output *output);

/* Removes the work folder. Does nothing if it is not open. */
void output_close(struct output *output);

#endif
