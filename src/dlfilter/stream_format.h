/* SPDX-License-Identifier: GPL-2.0-only */
/* Bytes of stream.h. Numbers are in pieces of seven bits, the lowest first. */
#ifndef DLFILTER_STREAM_FORMAT_H
#define DLFILTER_STREAM_FORMAT_H

/* What follows: */
enum stream_tag {
	STREAM_END,    /* nothing */
	STREAM_SYMBOL, /* text, start, end, a byte: of the kernel */
	STREAM_PLACE,  /* address, symbol, bytes: length of the instruction, what it does to IRQs */
	STREAM_INSNS,  /* [time] [task] [place] to the last one, instructions, cycles */
	STREAM_BRANCH, /* [time] [task] place, place, flags [instructions, cycles] */
	STREAM_KIND = 7,
	STREAM_TIME = 8,     /* since the last event */
	STREAM_TASK = 16,    /* CPU, process, thread, a byte: [text] */
	STREAM_GOES_ON = 32, /* at the place that the last branch led to */
	STREAM_COUNTS = 64,
};

#endif
