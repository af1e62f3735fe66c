/* SPDX-License-Identifier: GPL-2.0-only */
/* Names and contents of captures: an untrusted archive may contain nothing else. */
#ifndef CTL_CAPTURE_LAYOUT_H
#define CTL_CAPTURE_LAYOUT_H

#include <stdbool.h>
#include <sys/types.h>

/* The name in an archive of captures that were renamed. */
#define LAYOUT_ANY_NAME "capture"

/* Additional contents of a capture from an archive. */
#define LAYOUT_HOST "host.json"
#define LAYOUT_BUILDID "buildid"

/* The folder in an archive of selftest, with captures and results. */
#define LAYOUT_SELFTEST "perf-poke-selftest"

/* Whether it is a name that sessions give, such as 20261121-093015.042-cpu3-83us, or
 * LAYOUT_ANY_NAME. */
bool layout_is_name(const char *name);

/* Whether captures contain this path, relative to their folder, as a file or a folder. */
bool layout_has(const char *path, mode_t mode);

/* The same for a selftest. */
bool layout_selftest_has(const char *path, mode_t mode);

#endif
