/* SPDX-License-Identifier: GPL-2.0-only */
/* Where a span begins and ends, from capture.json, which is untrusted. */
#ifndef CTL_CAPTURE_SPAN_ENDS_H
#define CTL_CAPTURE_SPAN_ENDS_H

#include "capture/capture_file.h"
#include "normal/ends.h"

/* What is missing is empty. */
void span_ends_read(struct ends *ends, const struct capture_file *file);

#endif
