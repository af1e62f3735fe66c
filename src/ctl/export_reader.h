/* SPDX-License-Identifier: GPL-2.0-only */
/* What a perf says while it exports. */
#ifndef CTL_EXPORT_READER_H
#define CTL_EXPORT_READER_H

#include "export.h"

/* Text that comes in pieces, by lines. */
struct export_reader {
	int fd;
	char line[1024]; /* what is longer is dropped */
	size_t length;
	void (*take)(struct export_reader *reader, char *line);
	struct export_result *result;
	uint64_t time;	     /* that perf is at */
	uint64_t begin, end; /* errors of other times are another reader's; both 0: there is none */
};

/* Returns false at the end. */
bool export_read_lines(struct export_reader *reader);

/* Keeps errors of decoding and the cause of a failure. */
void export_take_said(struct export_reader *reader, char *line);

/* Ends of a pipe, none of them the number that the child is to have. */
int export_pipe(int *reader, int *writer) _must_check_;

#endif
