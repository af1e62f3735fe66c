/* SPDX-License-Identifier: GPL-2.0-only */
/* Converts a capture to the facts of a report. */
#ifndef CTL_CAPTURE_CAPTURE_FACTS_H
#define CTL_CAPTURE_CAPTURE_FACTS_H

#include "account/statistics.h"
#include "capture/capture_file.h"
#include "facts/facts.h"

/* Strings become printable and times ordered, whatever the file says. Returns 0, or -EINVAL if the
 * times are inconsistent. */
int capture_facts(struct facts *facts, const struct capture_file *file) _must_check_;

/* The latencies up to the spike; none in captures of earlier versions. */
void capture_statistics(struct statistics *statistics, const struct capture_file *file);

#endif
