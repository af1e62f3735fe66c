/* SPDX-License-Identifier: GPL-2.0-only */
/* Loads what a report needs from the folder of a capture. */
#ifndef CTL_CAPTURE_ACCOUNT_LOAD_H
#define CTL_CAPTURE_ACCOUNT_LOAD_H

#include "capture/verdict.h"
#include "capture/view.h"
#include "cli/cli.h"

struct account_want {
	uint64_t window_ns; /* before the spike; 0: default */
	uint64_t after_ns;  /* after the spike */
	const char *symfs;  /* see struct decode_opts */
};

/* Returns 0, or a negative errno after printing the error: -EINTR for a signal. `folder` is not
 * copied. */
int account_load(struct account *account, struct console *con, const char *folder,
		 const struct account_want *want) _must_check_;

/* What a report with its defaults concludes, from the user's cache if it is there. Returns as
 * account_load(). */
int verdict_load(struct verdict *verdict, struct console *con, const char *folder) _must_check_;

#endif
