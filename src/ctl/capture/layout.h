/* SPDX-License-Identifier: GPL-2.0-only */
/* What a capture is named, and what is in it: an archive of a stranger may bring nothing else. */
#ifndef CTL_CAPTURE_LAYOUT_H
#define CTL_CAPTURE_LAYOUT_H

#include <stdbool.h>
#include <sys/types.h>

/* What captures are named if their folder has no such name. */
#define LAYOUT_ANY_NAME "capture"

/* What a capture that was unpacked has more. */
#define LAYOUT_HOST "host.json"
#define LAYOUT_BUILDID "buildid"

/* The folder in the archive of a self-test: captures, and what was seen of them. */
#define LAYOUT_SELFTEST "perf-poke-selftest"

/* As sessions name the folders of captures, 20261121-093015.042-cpu3-83us, or LAYOUT_ANY_NAME. */
bool layout_is_name(const char *name);

/* Whether a capture has a file or a folder, by the type in the mode, of that path in its own. */
bool layout_has(const char *path, mode_t mode);

/* The same of a self-test. */
bool layout_selftest_has(const char *path, mode_t mode);

#endif
