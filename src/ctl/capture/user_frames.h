/* SPDX-License-Identifier: GPL-2.0-only */
/* Names functions of programs and libraries in the stacks of a spike. */
#ifndef CTL_CAPTURE_USER_FRAMES_H
#define CTL_CAPTURE_USER_FRAMES_H

#include <perf_poke.h>

#include "code/files.h"
#include "facts/facts.h"

/* The stacks of a spike, of capture_file_open(). Frames of files that are not found, or have no
 * build ID, keep their names. */
void user_frames_name(struct facts *facts, const struct perf_poke_spike *spike,
		      const struct files_places *places);

#endif
