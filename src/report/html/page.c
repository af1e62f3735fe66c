// SPDX-License-Identifier: GPL-2.0-only
#include "html/page.h"

#include <errno.h>
#include <string.h>

/* Escapes '<', so that JSON cannot end its script element. */
int page_put_json(FILE *file, json_object *object)
{
	const char *text =
		object ? json_object_to_json_string_ext(object, JSON_C_TO_STRING_PLAIN) : NULL;

	while (text && *text) {
		size_t length = strcspn(text, "<");

		fwrite(text, 1, length, file);
		text += length;
		if (*text) {
			fputs("\\u003c", file);
			text++;
		}
	}
	json_object_put(object);
	return text ? 0 : -ENOMEM;
}

int page_write(FILE *file, const char *text,
	       int (*put)(FILE *file, const char *name, const void *arg), const void *arg)
{
	int r = 0;

	while (!r) {
		const char *mark = strchr(text, '@');

		/* In style sheets '@' precedes lower case. */
		while (mark && (mark[1] < 'A' || mark[1] > 'Z'))
			mark = strchr(mark + 1, '@');
		if (!mark)
			break;
		fwrite(text, 1, (size_t)(mark - text), file);
		r = put(file, mark, arg);
		text = strchr(mark + 1, '@') + 1;
	}
	fputs(text, file);
	if (!r && ferror(file))
		r = errno ? -errno : -EIO;
	return r;
}
