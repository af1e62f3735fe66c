/* SPDX-License-Identifier: GPL-2.0-only */
/* By which way a thread came to the code of the kernel that it ran: the system call or exception,
 * and the function that the kernel calls for it through a pointer, such as a file's. No compiler
 * inlines these, and all recorders see them. */
#ifndef ANALYSIS_ENTRY_POINT_H
#define ANALYSIS_ENTRY_POINT_H

#include "cause/fingerprint.h"

struct late_thread;

struct entry_point {
	char token[FINGERPRINT_NAME_SIZE];    /* such as `[write]` */
	char function[FINGERPRINT_NAME_SIZE]; /* empty: none, or inlined */
};

enum entry_share {
	ENTRY_NONE,  /* it ran in user space, or it is not recorded */
	ENTRY_MIXED, /* in several, none of which had most of the time */
	ENTRY_MOST,
};

/* That of most of the time that the thread ran, while it was late: only of ENTRY_MOST. */
enum entry_share entry_point_find(struct entry_point *entry, const struct findings *findings,
				  const struct facts *facts);

#endif
