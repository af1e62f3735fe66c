/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef PTEMU_TRACE_MARKS_H
#define PTEMU_TRACE_MARKS_H

/* The log has 8 bytes for each instruction, its ip; and pairs of a 0 and one of these with a value
 * below. */
#define TRACE_MARK_SHIFT 56
#define TRACE_MARK_VALUE ((1ULL << TRACE_MARK_SHIFT) - 1)

enum trace_mark {
	TRACE_MARK_TIME,	    /* a TSC packet: TSC */
	TRACE_MARK_CYCLES,	    /* a CYC packet: the TSC up to which cycles are told now */
	TRACE_MARK_UNTRACED_CYCLES, /* the same, of what is not traced */
	TRACE_MARK_EVENT,	    /* an interrupt or exception: the ip that it returns to */
	TRACE_MARK_LEAVE,	    /* the last instruction went where is no trace: the ip */
};

#endif
