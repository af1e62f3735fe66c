/* SPDX-License-Identifier: GPL-2.0-only */
/**
 * @file
 * Intel PT: what the CPUs of a perf.data executed, block by block, in order of time.
 *
 *	decode_new(&decode, &opts, &why);
 *	while (!(r = decode_next(decode, &items, &nr)) && nr)
 *		...
 *	decode_free(decode);
 *
 * Of these headers the parts of src/decode include what they need; others include this one, and
 * code.h for what a block is.
 */
#ifndef DECODE_H
#define DECODE_H

#include <signal.h>
#include <stdbool.h>
#include <stddef.h>

#include "item.h"

struct decode;
struct symbol;

struct decode_opts {
	const char *data;	 /* a perf.data, or its folder */
	const char *buildid_dir; /* where copies of files are, by build id; NULL: no such folder */
	const char *symfs;	 /* where files by name are; NULL: the root */
	int cpu;		 /* negative: all */
	uint64_t begin, end;	 /* ns of perf's clock: items of then; end 0: no end */
	uint64_t tail;		 /* of each CPU only the end, at least so many bytes; 0: all */
	unsigned int threads;	 /* that decode; 0 or 1: none but the caller's */
	/* Blocks in a row that are of one function, and change nothing of interrupts but by how the
	 * last one ends, are one item, of times on the same side of each mark. */
	bool runs;
	uint64_t marks[DECODE_MARKS];
	const volatile sig_atomic_t *stop; /* not 0: decode_next() is to end with -ECANCELED */
};

/* Counted as far as decode_next() has come. */
struct decode_stats {
	uint64_t errors, overflows, gaps;
	uint64_t bytes, segments; /* of the trace: that were decoded */
	/* In the window, as the kernel tells: how often trace was lost, and records that were. */
	uint64_t truncated, lost_records;
	char first_error[128]; /* where and what; "": there was none */
};

/* Returns 0 or a negative errno with `why`, a line for the user that is to be freed. */
int decode_new(struct decode **ret, const struct decode_opts *opts, char **why);
void decode_free(struct decode *decode);

/* A batch of items, which stay until the next call. Of all CPUs in order of time, of one CPU in
 * order of execution. Returns 0, and at the end *nr is 0; or a negative errno. */
int decode_next(struct decode *decode, const struct decode_item **items, size_t *nr);

/* The name of a thread at a time; not for long. NULL: not known. */
const char *decode_comm(struct decode *decode, int tid, uint64_t time);

/* Of an address of the item's process, as perf names it; never NULL. It stays. */
const struct symbol *decode_symbol(struct decode *decode, const struct decode_item *item,
				   uint64_t ip);

struct code_file;

/* As code_files(), when the end has come. */
int decode_files(struct decode *decode, struct code_file **files, size_t *nr);

void decode_stats(const struct decode *decode, struct decode_stats *stats);

#endif
