/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Accounts and comparisons as text, as JSON and as a self-contained HTML page.
 * Timelines are written by fxt.h.
 */
#ifndef ANALYSIS_OUTPUT_H
#define ANALYSIS_OUTPUT_H

#include <json-c/json.h>
#include <stdio.h>

#include "cause/account.h"
#include "compare/compare.h"

/* Most lines have at most account->columns. Lists `top` functions. */
void account_print(FILE *file, const struct account *account, size_t top);

/* What the stacks of facts->holder and facts->stack are. */
const char *account_holder_title(const struct facts *facts);
const char *account_stack_title(const struct facts *facts);

/* From ACCOUNT_COLUMNS_MIN to ACCOUNT_COLUMNS. */
size_t account_columns(const struct account *account);

/* Wraps at spaces and indents continuation lines. */
void account_print_wrapped(FILE *file, const struct account *account, const char *text);

/* NULL if out of memory. */
json_object *account_json(const struct account *account, size_t top);

void comparison_print(FILE *file, const struct comparison *comparison, size_t top);

/* With all nodes, for a flame chart, or without. */
json_object *comparison_json(const struct comparison *comparison, size_t top, bool nodes);

/* Writes a report as a page; `comparison` may be NULL. Returns 0 or a negative errno. */
int html_report_write(FILE *file, const struct account *account,
		      const struct comparison *comparison) _must_check_;

/* The same for another page, which has a mark @JSON@ for each of `data`. */
int html_page_write(FILE *file, const char *page, json_object *const *data) _must_check_;

#endif
