/* SPDX-License-Identifier: GPL-2.0-only */
/* Self-contained HTML pages. */
#ifndef REPORT_HTML_H
#define REPORT_HTML_H

#include "cause/account.h"
#include "compare/compare.h"

/* Writes a report; `comparison` may be NULL. Returns 0 or a negative errno. */
int html_write(FILE *file, const struct account *account,
	       const struct comparison *comparison) _must_check_;

/* The same for another page, which has a mark @JSON@ for each of `data`. */
int html_page_write(FILE *file, const char *page, json_object *const *data) _must_check_;

#endif
