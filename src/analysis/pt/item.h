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
	DECODE_BEGIN, /* tracing begins or resumes at `to` */
	DECODE_ERROR, /* decoding failed up to the next item of the CPU */
};

/* How a block ended. */
enum decode_end {
	DECODE_ON, /* continues at `to` */
	DECODE_JUMP,
	DECODE_CALL,
	DECODE_RETURN,
	DECODE_SYSCALL,
	DECODE_SYSRET,
	DECODE_INTERRUPT, /* before the instruction at `from`, which follows the block */
	DECODE_IRET,
	DECODE_TX_ABORT,
	DECODE_DISABLED, /* at the branch in code->branch, to untraced code */
	DECODE_ASYNC_DISABLED,
	DECODE_OVERFLOW, /* an overflow lost everything up to the next item */
	DECODE_LOST,	 /* likewise, lost by the kernel or by the reader of the trace */
	DECODE_NO_CODE,	 /* of an error: the code is not in the capture */
};

/* Where the CPU is without a trace, according to Event Trace. */
enum untraced {
	UNTRACED_CODE, /* in untraced code */
	UNTRACED_SMI,
	UNTRACED_GUEST,	     /* in a virtual machine */
	UNTRACED_HYPERVISOR, /* in the hypervisor of this virtual machine */
	UNTRACED_NR,
};

/* A block, or a run of blocks described by the last one. */
struct decode_item {
	uint64_t time; /* end of the block, in ns of perf's clock; never decreases */
	uint64_t to;   /* where execution continues; 0: unknown */
	uint64_t from; /* interrupt: not executed yet; error: address of the error */
	union {
		const struct code_block *code; /* of a block; NULL: no code before */
		uint64_t offset;	       /* error: offset in the CPU's trace */
	};
	uint64_t first; /* begin of the block or run */
	uint32_t insns;
	uint32_t cycles;  /* core cycles since the CPU's last item with a count; 0: no count */
	int32_t cpu;	  /* -1: unknown */
	int32_t pid, tid; /* -1: unknown */
	union {
		int16_t error;	  /* libipt's error, for decode_error_text() */
		int16_t untraced; /* of a block before untraced code: enum untraced */
	};
	uint8_t kind, end;
};

/* Times that no run spans. */
#define DECODE_MARKS 4

/* How code ended that ran to its last instruction and continued at `to`. */
enum decode_end item_end(const struct code_block *code, uint64_t to);

/* The first mark after a time. */
uint64_t item_next_mark(const uint64_t marks[DECODE_MARKS], uint64_t time);

/* As many as fit, like the largest count that one CYC may bring. */
static inline void item_add_cycles(struct decode_item *item, uint32_t cycles)
{
	item->cycles = cycles < UINT32_MAX - item->cycles ? item->cycles + cycles : UINT32_MAX;
}

/* Appends the block to a run. False: it does not fit; nothing has changed. */
bool item_join_run(struct decode_item *run, const struct decode_item *item);

/* Formats an error as a line without newline. error: libipt's, negative; ip: its address; 0:
 * unknown. Truncates longer texts. */
void decode_error_text(int error, uint64_t ip, char *text, size_t size);

#endif
