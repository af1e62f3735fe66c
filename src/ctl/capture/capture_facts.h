/* SPDX-License-Identifier: GPL-2.0-only */
/* From what capture.json says to what a report takes. */
#ifndef CTL_CAPTURE_CAPTURE_FACTS_H
#define CTL_CAPTURE_CAPTURE_FACTS_H

#include "capture/capture_file.h"
#include "facts.h"

/* Texts are lines without escape sequences, whoever wrote them, and times in order. Returns 0, or
 * -EINVAL if they are of no clock. */
int capture_facts(struct facts *facts, const struct capture_file *file) _must_check_;

#endif
