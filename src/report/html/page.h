/* SPDX-License-Identifier: GPL-2.0-only */
/* An offline HTML page from a text with marks such as @REPORT@. */
#ifndef REPORT_PAGE_H
#define REPORT_PAGE_H

#include <json-c/json.h>
#include <stdio.h>

/* put() writes the text for a mark; `name` begins with the mark. Returns 0 or a negative errno. */
int page_write(FILE *file, const char *text,
	       int (*put)(FILE *file, const char *name, const void *arg), const void *arg);

/* Writes and frees JSON for a script element. -ENOMEM if it is NULL. */
int page_put_json(FILE *file, json_object *object);

#endif
