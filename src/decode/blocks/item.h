/* SPDX-License-Identifier: GPL-2.0-only */
/* The items of decoded trace. */
#ifndef DECODE_ITEM_H
#define DECODE_ITEM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct code_block;

enum decode_kind {
	DECODE_BLOCK, /* code was executed */
	DECODE_BEGIN, /* tracing begins, or goes on, at `to` */
	DECODE_ERROR, /* decoding failed up to the next item of the CPU */
};

/* Maximum number of pages of a run's code. */
#define DECODE_PAGES 2

/* How a block ended. */
enum decode_end {
	DECODE_ON, /* continues at `to` */
	DECODE_JUMP,
	DECODE_CALL,
	DECODE_RETURN,
	DECODE_SYSCALL,
	DECODE_SYSRET,
	DECODE_INTERRUPT, /* before `from`, the instruction after the block, was executed */
	DECODE_IRET,
	DECODE_TX_ABORT,
	DECODE_DISABLED, /* by the branch in code->branch, to untraced code */
	DECODE_ASYNC_DISABLED,
	DECODE_OVERFLOW, /* by an overflow that lost everything up to the next item */
	DECODE_LOST,	 /* the same, by the kernel or by the reader of the trace */
};

/* Where the CPU is while there is no trace, according to Event Trace. */
enum untraced {
	UNTRACED_CODE, /* in code that is not traced */
	UNTRACED_SMI,
	UNTRACED_GUEST,	     /* it runs a virtual machine */
	UNTRACED_HYPERVISOR, /* this is a virtual machine, and its hypervisor has the CPU */
	UNTRACED_NR,
};

/* Executed 64-byte lines in 4 KiB of code, one bit each. */
struct decode_lines {
	uint64_t page; /* address / 4096 */
	uint64_t lines;
};

/* One block, or a run of blocks described by its last one. */
struct decode_item {
	uint64_t time; /* end of the block, in ns of perf's clock; never decreases */
	uint64_t to;   /* where execution continues; 0: unknown */
	uint64_t from; /* interrupt: not executed yet; error: where it occurred */
	union {
		const struct code_block *code; /* of a block; NULL: no code was executed before */
		uint64_t offset;	       /* error: offset in the trace of its CPU */
	};
	uint64_t first;				 /* begin of the block or run */
	struct decode_lines lines[DECODE_PAGES]; /* of a run: .lines 0: no more */
	uint32_t insns;
	uint32_t cycles;  /* core cycles since the CPU's last item with a count; 0: no count */
	int32_t cpu;	  /* -1: not known */
	int32_t pid, tid; /* -1: not known */
	union {
		int16_t error;	  /* of an error: libipt's, for decode_error_text() */
		int16_t untraced; /* of a block without trace behind it: enum untraced */
	};
	uint8_t kind, end;
};

/* Times that no run spans. */
#define DECODE_MARKS 4

/* How code that ran to its end and continued at `to` ended. */
enum decode_end item_end(const struct code_block *code, uint64_t to);

/* The first mark after a time. */
uint64_t item_next_mark(const uint64_t marks[DECODE_MARKS], uint64_t time);

/* A block may be the first of a run. */
void item_begin_run(struct decode_item *item);

/* Appends the block to a run. False: it does not fit, and nothing has changed. */
bool item_join_run(struct decode_item *run, const struct decode_item *item);

/* Formats an error as a line without newline. error: libipt's, negative; ip: where it occurred, 0:
 * unknown. Longer texts are truncated. */
void decode_error_text(int error, uint64_t ip, char *text, size_t size);

#endif
