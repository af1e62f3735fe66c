/* SPDX-License-Identifier: GPL-2.0-only */
/* Which files of user space a capture's Intel PT has code of: perf knows when it decodes it. */
#ifndef CTL_TOUCHED_H
#define CTL_TOUCHED_H

#include "build_id.h"
#include "console.h"
#include "view.h"

/* A list for touched_has(), for the caller to free. `folder` is the capture's. Returns 0, or a
 * negative errno and the error has been printed; -EINTR if interrupted, and nothing has been. */
int touched_find(struct console *con, const char *folder, const struct view_capture *capture,
		 char **list) _must_check_;

bool touched_has(const char *list, const struct build_id *id);

#endif
