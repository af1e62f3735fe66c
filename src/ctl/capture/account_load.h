/* SPDX-License-Identifier: GPL-2.0-only */
/* From the folder of a capture to what a report says of it. */
#ifndef CTL_CAPTURE_ACCOUNT_LOAD_H
#define CTL_CAPTURE_ACCOUNT_LOAD_H

#include "account.h"
#include "capture/view.h"
#include "cli/console.h"

struct account_want {
	uint64_t window_ns; /* before the spike; 0: what suits it */
	uint64_t after_ns;  /* of what is after it */
	const char *symfs;  /* as of struct decode_opts */
};

/* Returns 0, or a negative errno and the error has been printed: -EINTR if a signal came. `folder`
 * is referred to. */
int account_load(struct account *account, struct console *con, const char *folder,
		 const struct account_want *want) _must_check_;

/* Of the recorder events. Returns as above. */
int report_events_read(struct console *con, const char *folder, const struct view_capture *capture,
		       const char *data, uint64_t begin, struct spans *spans) _must_check_;

#endif
