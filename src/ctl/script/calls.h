/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef CTL_SCRIPT_CALLS_H
#define CTL_SCRIPT_CALLS_H

#include "script/script.h"

/* Functions of Intel PT where they begin, indented, without perf. */
enum exit_code script_calls(struct console *con, const struct script_args *args,
			    const struct view_capture *capture, const char *data);

#endif
