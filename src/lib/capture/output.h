/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/* The folder for captures. It is opened and checked once and stays open, so a session writes into
 * the folder that was checked even if the path changes. */
#ifndef LIB_CAPTURE_OUTPUT_H
#define LIB_CAPTURE_OUTPUT_H

#include <stdbool.h>
#include <sys/types.h>

#include "base/log.h"

/* Prefix of the folders in which sessions write incomplete captures. */
#define OUTPUT_WORK ".session-"

struct output {
	const char *path; /* the caller's */
	uid_t owner;	  /* may own folders, as root and the caller may; 0: nobody else */
	int fd;		  /* keeps its number when the folder is renewed */
	int work;	  /* the same, of this session's folder in it */
	char work_name[40];
	bool made; /* this session made it: removed if it stays empty */
};

/*
 * Opens the folder, creates it if missing, and removes incomplete captures of dead sessions.
 * Refuses folders that others could replace or write to.
 *
 * The work folder is locked while the session lives. Only root and the same user can take its lock.
 */
int output_open(struct output *output, const char *path, uid_t owner, const struct log *log);

/* Creates the folder again if its path no longer leads to it. Returns 1 then, with a message in
 * *note that the caller frees. Any thread, but one at a time. */
int output_renew(struct output *output, char **note);

/* Where the folder is now if its path no longer leads to it, else NULL. The caller frees it. */
char *output_moved(const struct output *output);

/* Removes the work folder, if it is open. */
void output_close(struct output *output);

#endif
