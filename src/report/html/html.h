/* SPDX-License-Identifier: GPL-2.0-only */
/* A report as one self-contained HTML page. */
#ifndef REPORT_HTML_H
#define REPORT_HTML_H

#include "account/account.h"
#include "compare/compare.h"

/* `comparison` may be NULL. Returns 0 or a negative errno. */
int html_write(FILE *file, const struct account *account,
	       const struct comparison *comparison) _must_check_;

#endif
