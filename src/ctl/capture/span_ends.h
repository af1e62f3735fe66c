/* SPDX-License-Identifier: GPL-2.0-only */
/* Reads begin and end of a span from capture.json, which is not trusted. */
#ifndef CTL_CAPTURE_SPAN_ENDS_H
#define CTL_CAPTURE_SPAN_ENDS_H

#include "capture/capture_file.h"
#include "normal/ends.h"

/* Missing values are empty. */
void span_ends_read(struct ends *ends, const struct capture_file *file);

#endif
