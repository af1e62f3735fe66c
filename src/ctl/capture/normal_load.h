/* SPDX-License-Identifier: GPL-2.0-only */
/* Loads enough of a capture for a number of normal activations of its timer. */
#ifndef CTL_CAPTURE_NORMAL_LOAD_H
#define CTL_CAPTURE_NORMAL_LOAD_H

#include "cli/console.h"
#include "normal/normal.h"

/* Default of `activations`. */
#define NORMAL_ACTIVATIONS 100

struct normal_want {
	const char *symfs; /* see struct decode_opts */
	size_t activations;
};

/* `folder`, and `account`, which is filled in, must stay valid. Returns 0, or a negative errno
 * after printing the error: -EXDEV without a timer, or without a trace with times. */
int normal_load(struct normal *normal, struct account *account, struct console *con,
		const char *folder, const struct normal_want *want) _must_check_;

struct normal_folders {
	const char *here, *there;
};

/* The same for the normal activations of another capture, whose account is `there`. */
int normal_load_against(struct normal *normal, struct account *account, struct account *there,
			struct console *con, const struct normal_folders *folders,
			const struct normal_want *want) _must_check_;

#endif
