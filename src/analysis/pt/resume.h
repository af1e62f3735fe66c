/* SPDX-License-Identifier: GPL-2.0-only */
/* Resumes decoding of a segment after an error, at the next packet with an address. libipt starts
 * only at a PSB, so one is written into a copy of the trace, before the rest. */
#ifndef DECODE_RESUME_H
#define DECODE_RESUME_H

#include <stdbool.h>

#include <intel-pt.h>

#include "util.h"

struct resume;

struct resume_point {
	uint64_t ip;
	uint64_t offset; /* of the continuation in the trace */
	bool overflowed; /* an overflow precedes it */
	bool is_event;	 /* begins with an event */
};

/* For a trace that begins with a PSB. `config` of its decoder becomes that of a decoder for the
 * copy. */
int resume_new(struct resume **ret, struct pt_config *config) _must_check_;
void resume_free(struct resume *resume);

/* Finds the next point at or after an offset of the trace, outside of virtual machines. Each is
 * returned once. False: none. */
bool resume_find(struct resume *resume, uint64_t offset, struct resume_point *point);

/* Writes the PSB. Returns its offset in the copy. */
uint64_t resume_write(struct resume *resume, const struct resume_point *point);

/* Converts an offset in the copy to one in the trace. */
uint64_t resume_offset(uint64_t offset);

#endif
