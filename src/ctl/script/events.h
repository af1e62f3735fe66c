/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef CTL_SCRIPT_EVENTS_H
#define CTL_SCRIPT_EVENTS_H

#include "script/script.h"

/* What perf script prints of the events of a capture, without perf. */
enum exit_code script_events(struct console *con, const struct script_args *args,
			     const struct view_capture *capture, const char *data);

#endif
