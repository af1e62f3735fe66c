/* SPDX-License-Identifier: GPL-2.0-only */
/* A capture of which there is the text of capture.json. */
#ifndef TESTS_OPENED_H
#define TESTS_OPENED_H

#include <stdlib.h>
#include <string.h>

#include "facts/captures.h"
#include "helpers.h"

/* In the test's folder, with ' instead of ". Returns as capture_file_open(). */
static inline int open_text(struct capture_file *file, const char *text, char **why)
{
	_cleanup_free_ char *json = strdup(text);

	for (char *quote = json; (quote = strchr(quote, '\''));)
		*quote = '"';
	put_file(folder->fd, CAPTURE_FILE_NAME, json);
	return capture_file_open(file, folder->path, why);
}

#endif
