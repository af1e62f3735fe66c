/* SPDX-License-Identifier: GPL-2.0-only */
/* Shows groups of captures, as text, JSON or a page. */
#ifndef CTL_CAUSES_PRINT_H
#define CTL_CAUSES_PRINT_H

#include "causes/known.h"
#include "cli/cli.h"

/* `judge` is NULL without a file of known causes. */
void causes_print(struct console *con, const struct causes *causes,
		  const struct known_judge *judge);

/* Returns 0 or a negative errno. */
int causes_page(FILE *file, const struct causes *causes,
		const struct known_judge *judge) _must_check_;

#endif
