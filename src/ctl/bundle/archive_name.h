/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef CTL_BUNDLE_ARCHIVE_NAME_H
#define CTL_BUNDLE_ARCHIVE_NAME_H

#include "util.h"

/* The name of a capture's archive, allocated: host, name of the capture, and CRC-32 of capture.json
 * and the trace, such as rt7-20261121-093015.042-cpu3-83us-f78fc1ce.tar.zst. A repeated upload
 * replaces the same object. Returns 0 or a negative errno. */
int archive_name(const char *folder, char **name) _must_check_;

#endif
