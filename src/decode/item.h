/* SPDX-License-Identifier: GPL-2.0-only */
/* What is decoded, piece by piece. */
#ifndef DECODE_ITEM_H
#define DECODE_ITEM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct code_block;

enum decode_kind {
	DECODE_BLOCK, /* code was executed */
	DECODE_BEGIN, /* tracing begins, or goes on, at `to` */
	DECODE_ERROR, /* what follows was not decoded, up to the next item of the CPU */
};

/* Code of a run is in so many pages at most. */
#define DECODE_PAGES 2

/* How a block ended. */
enum decode_end {
	DECODE_ON, /* straight on, at `to` */
	DECODE_JUMP,
	DECODE_CALL,
	DECODE_RETURN,
	DECODE_SYSCALL,
	DECODE_SYSRET,
	DECODE_INTERRUPT, /* before `from` was executed, which comes after the block's last */
	DECODE_IRET,
	DECODE_TX_ABORT,
	DECODE_DISABLED, /* by the branch that code->branch tells, to where is no trace */
	DECODE_ASYNC_DISABLED,
	DECODE_OVERFLOW, /* what follows up to the next item of the CPU was lost by it */
	DECODE_LOST,	 /* the same, by the kernel or by the reader of the trace */
};

/* Where the CPU is while there is no trace, as far as Event Trace tells. */
enum untraced {
	UNTRACED_CODE, /* in code that is not traced */
	UNTRACED_SMI,
	UNTRACED_GUEST,	     /* it runs a virtual machine */
	UNTRACED_HYPERVISOR, /* this one is a virtual machine, and what runs it has the CPU */
	UNTRACED_NR,
};

/* Lines of 64 bytes that were executed in 4 KiB of code, a bit each. */
struct decode_lines {
	uint64_t page; /* address / 4096 */
	uint64_t lines;
};

/* One block; or a run of blocks, of which the last one is told. */
struct decode_item {
	uint64_t
		time; /* ns of perf's clock, at the end of a block; not less than the item before */
	uint64_t to;  /* where execution goes on; 0: not known */
	uint64_t from; /* of an interrupt: not executed yet; of an error: where it was met */
	union {
		const struct code_block *code; /* of a block; NULL: nothing was executed before */
		uint64_t offset;	       /* of an error: in the trace of its CPU */
	};
	uint64_t first;				 /* where the block, or the run, begins */
	struct decode_lines lines[DECODE_PAGES]; /* of a run: .lines 0: no more */
	uint32_t insns;
	uint32_t
		cycles; /* core cycles since the last item of the CPU that has some; 0: none told */
	int32_t cpu;	/* -1: not known */
	int32_t pid, tid; /* -1: not known */
	union {
		int16_t error;	  /* of an error: libipt's, for decode_error_text() */
		int16_t untraced; /* of a block without trace behind it: enum untraced */
	};
	uint8_t kind, end;
};

/* Times that no run goes over. */
#define DECODE_MARKS 4

/* How code that was executed to its end, and went on at `to`, ended. */
enum decode_end item_end(const struct code_block *code, uint64_t to);

/* The first one after a time. */
uint64_t item_next_mark(const uint64_t marks[DECODE_MARKS], uint64_t time);

/* A block may be the first of a run. */
void item_begin_run(struct decode_item *item);

/* The block goes on with a run, or not: then nothing is changed. */
bool item_join_run(struct decode_item *run, const struct decode_item *item);

/* What is wrong, as a line without its end. error: of libipt, negative; ip: where it was met, 0:
 * not known. Longer texts are cut. */
void decode_error_text(int error, uint64_t ip, char *text, size_t size);

#endif
