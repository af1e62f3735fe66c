/* SPDX-License-Identifier: GPL-2.0-only */
/* An account as text and as JSON. */
#ifndef ANALYSIS_ACCOUNT_PRINT_H
#define ANALYSIS_ACCOUNT_PRINT_H

#include <json-c/json.h>
#include <stdio.h>

#include "cause/account.h"

/* Lines have at most 100 columns. Lists `top` functions. */
void account_print(FILE *file, const struct account *account, size_t top);

/* Wraps at spaces and indents continuation lines. */
void account_print_wrapped(FILE *file, const char *text);

/* NULL if out of memory. */
json_object *account_json(const struct account *account, size_t top);

#endif
