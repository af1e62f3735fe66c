/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef CTL_EXPORT_EVENTS_H
#define CTL_EXPORT_EVENTS_H

#include "export/export.h"

/* Writes the file `path` of the events of a capture: what interrupts and tasks each CPU had.
 * Returns 0, or a negative errno: if *said, it has been printed. */
int export_events(struct console *con, const struct export_args *args,
		  const struct view_capture *capture, const char *data, const char *path,
		  uint64_t *slices, bool *said) _must_check_;

#endif
