/* SPDX-License-Identifier: GPL-2.0-only */
/* Converts capture.json to the facts of a report. */
#ifndef CTL_CAPTURE_CAPTURE_FACTS_H
#define CTL_CAPTURE_CAPTURE_FACTS_H

#include "capture/capture_file.h"
#include "facts/facts.h"

/* Strings become printable and times ordered, whatever the file says. Returns 0, or -EINVAL if the
 * times are inconsistent. */
int capture_facts(struct facts *facts, const struct capture_file *file) _must_check_;

#endif
