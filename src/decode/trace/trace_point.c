// SPDX-License-Identifier: GPL-2.0-only
/* Finds synchronisation points without reading all bytes before them. */
#include "trace/trace_internal.h"

#include "pt_packet.h"
#include "pt_scan.h"

/* Bytes searched at once: several times the usual distance of points. */
#define STRIDE (64 * 1024)
/* A PSB, and what looks like its begin before it */
#define LOOK_AHEAD (2 * PT_PSB_LEN)

static void take_point(struct trace_point *point, const struct pt_psb *psb, uint64_t near)
{
	point->offset = psb->offset;
	point->tsc = psb->tsc && near ? trace_clock_extend(psb->tsc, near) : psb->tsc;
}

bool trace_find_point(const uint8_t *bytes, size_t size, uint64_t near, size_t from, bool timed,
		      struct trace_point *point)
{
	struct pt_psb psb;

	do {
		if (!pt_scan_psb(bytes, size, from, &psb))
			return false;
		from = psb.offset + PT_PSB_LEN;
	} while (timed && !psb.tsc);
	take_point(point, &psb, near);
	return true;
}

/* The last complete PSB that begins from `begin` on and before `before`. */
static bool find_last(const uint8_t *bytes, size_t size, size_t begin, size_t before,
		      size_t *offset)
{
	size_t end = size - before < LOOK_AHEAD ? size : before + LOOK_AHEAD, at;
	bool found = false;

	for (; pt_scan_find(bytes, end, begin, &at) && at < before; begin = at + PT_PSB_LEN) {
		*offset = at;
		found = true;
	}
	return found;
}

bool trace_find_point_before(const uint8_t *bytes, size_t size, uint64_t near, size_t before,
			     bool timed, struct trace_point *point)
{
	while (before) {
		size_t begin = before > STRIDE ? before - STRIDE : 0, until = before;
		struct pt_psb psb;
		size_t offset;

		before = begin;
		while (find_last(bytes, size, begin, until, &offset)) {
			pt_scan_psb(bytes, size, offset, &psb);
			if (psb.tsc || !timed) {
				take_point(point, &psb, near);
				return true;
			}
			until = offset;
		}
	}
	return false;
}

bool trace_seek_point(const uint8_t *bytes, size_t size, uint64_t near, uint64_t tsc,
		      struct trace_point *point)
{
	struct trace_point next;
	size_t low = 0, high = size;

	/* Points before `low` are not newer than the TSC; points from `high` on are. */
	while (high - low > STRIDE) {
		size_t middle = low + (high - low) / 2;

		if (trace_find_point(bytes, high, near, middle, true, &next) && next.tsc <= tsc)
			low = next.offset + PT_PSB_LEN;
		else
			high = middle;
	}
	if (!trace_find_point_before(bytes, size, near, low, true, point) &&
	    !trace_find_point(bytes, size, near, 0, false, point))
		return false;
	while (trace_find_point(bytes, size, near, point->offset + PT_PSB_LEN, false, &next) &&
	       next.tsc <= tsc)
		*point = next;
	return true;
}
