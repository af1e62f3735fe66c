/* SPDX-License-Identifier: GPL-2.0-only */
/* Loads what a comparison needs of one capture or of two. */
#ifndef CTL_CAPTURE_COMPARISON_LOAD_H
#define CTL_CAPTURE_COMPARISON_LOAD_H

#include "cli/cli.h"
#include "compare/compare.h"

/* Default of `activations`. */
#define NORMAL_ACTIVATIONS 100

struct comparison_want {
	const char *folder;
	const char *against; /* another capture; NULL: normal activations of the same one */
	const char *symfs;   /* see struct decode_opts */
	size_t activations;  /* normal ones */
};

/* The strings must stay valid. Call comparison_release() even on failure. Returns 0, or a negative
 * errno after printing the error: -EXDEV if the captures cannot be compared. */
int comparison_load(struct comparison *comparison, struct console *con,
		    const struct comparison_want *want) _must_check_;

#endif
