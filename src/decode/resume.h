/* SPDX-License-Identifier: GPL-2.0-only */
/* Where a segment can be decoded on after an error: at the next packet that says where the CPU is.
 * libipt begins at PSB packets alone, so one is written into a copy of the trace, before what
 * follows that packet. */
#ifndef DECODE_RESUME_H
#define DECODE_RESUME_H

#include <stdbool.h>

#include <intel-pt.h>

#include "util.h"

struct resume;

struct resume_point {
	uint64_t ip;
	uint64_t offset; /* of what follows, in the trace */
	bool overflowed; /* before it */
	bool is_event;	 /* what follows is of an event there */
};

/* Of a trace that begins with a PSB. `config`: of its decoder, to be one of the copy from now on.
 */
int resume_new(struct resume **ret, struct pt_config *config) _must_check_;
void resume_free(struct resume *resume);

/* The next point at an offset of the trace or behind it. Each is told once. False: there is none.
 */
bool resume_find(struct resume *resume, uint64_t offset, struct resume_point *point);

/* Writes the PSB. Returns its offset in the copy. */
uint64_t resume_write(struct resume *resume, const struct resume_point *point);

/* What an offset in the copy is in the trace. */
uint64_t resume_offset(uint64_t offset);

#endif
