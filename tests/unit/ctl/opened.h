/* SPDX-License-Identifier: GPL-2.0-only */
/* A capture of which there is the text of capture.json. */
#ifndef TESTS_CTL_OPENED_H
#define TESTS_CTL_OPENED_H

#include "capture/captures.h"
#include "helpers.h"

/* In the test's folder. Returns as capture_file_open(). */
static inline int open_text(struct capture_file *file, const char *text, char **why)
{
	put_file(folder->fd, CAPTURE_FILE_NAME, text);
	return capture_file_open(file, folder->path, why);
}

#endif
