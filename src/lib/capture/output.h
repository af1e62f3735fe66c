/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/* The folder for captures. It stays open: a session writes into the folder that was checked, even
 * if the path changes. */
#ifndef LIB_CAPTURE_OUTPUT_H
#define LIB_CAPTURE_OUTPUT_H

#include <stdbool.h>
#include <sys/types.h>

#include "machine/base.h"

/* Prefix of a session's work folder, for incomplete captures. */
#define OUTPUT_WORK ".session-"

struct output {
	const char *path; /* the caller's */
	uid_t owner;	  /* trusted as an owner besides root and the caller; 0: none */
	int fd;		  /* the number is kept when the folder is renewed */
	int work;	  /* the session's folder in it; number kept as well */
	char work_name[40];
	bool made; /* made by this session: removed if it stays empty */
};

/*
 * Opens the folder, creates it if missing, and removes incomplete captures of dead sessions.
 * Refuses folders that other users could write to or replace.
 *
 * The work folder is locked while the session lives. Only root and the same user can take its lock.
 */
int output_open(struct output *output, const char *path, uid_t owner, const struct log *log);

/* Recreates the folder if its path no longer leads to it. Then returns 1, with a message in *note
 * that the caller frees. Any thread, but one at a time. */
int output_renew(struct output *output, char **note);

/* The folder's new path if it was moved, else NULL. The caller frees it. */
char *output_moved(const struct output *output);

/* Removes the work folder, if it is open. */
void output_close(struct output *output);

#endif
