/* SPDX-License-Identifier: GPL-2.0-only */
/**
 * @file
 * Intel PT: what the CPUs of a perf.data executed, block by block, in order of time.
 *
 *	decode_new(&decode, &opts, &why);
 *	while (!(err = decode_next(decode, &items, &nr)) && nr)
 *		...
 *	decode_free(decode);
 *
 * Outside of src/analysis/pt, include this header, and code.h for blocks.
 */
#ifndef DECODE_H
#define DECODE_H

#include <signal.h>
#include <stdbool.h>
#include <stddef.h>

#include "pt/item.h"

struct decode;
struct symbol;
struct symbolizer;

struct decode_opts {
	const char *data;	       /* perf.data, or its folder */
	const char *buildid_dir;       /* folder of files by build ID; NULL: none */
	const char *symfs;	       /* root of files searched by name; NULL: / */
	struct symbolizer *symbolizer; /* see struct code_opts */
	bool inlined;		       /* likewise */
	int cpu;		       /* negative: all */
	uint64_t begin, end;	       /* window in ns of perf's clock; end 0: unbounded */
	uint64_t tail; /* decode only the end of each CPU's trace, at least this many bytes; 0: all
			*/
	unsigned int threads; /* decoding threads; 0 or 1: only the caller's thread */
	/* Consecutive blocks of one function are merged into one item if only the last one may
	 * change interrupts, and if no mark lies between their times. */
	bool runs;
	uint64_t marks[DECODE_MARKS];
	const volatile sig_atomic_t *stop; /* once not 0, decode_next() returns -ECANCELED */
};

/* Counts up to the position of decode_next(). */
struct decode_stats {
	uint64_t errors, overflows;
	uint64_t bytes, segments; /* bytes of trace decoded */
	/* Losses of trace and of records in the window, as recorded by the kernel. */
	uint64_t truncated, lost_records;
	char first_error[128]; /* position and error; "": none */
	uint64_t step_ns;      /* half of all times are that far from the one before, or farther; 0:
				  there are none */
};

/* Whether this program was built with libipt. */
bool decode_is_built(void);

/* Returns 0, or a negative errno with *why, a line for the user, to be freed. -ENOTSUP: built
 * without libipt. */
int decode_new(struct decode **ret, const struct decode_opts *opts, char **why);
void decode_free(struct decode *decode);

/* Returns a batch of items, valid until the next call: all CPUs in order of time, each CPU in order
 * of execution. Returns 0, with *nr 0 at the end, or a negative errno. */
int decode_next(struct decode *decode, const struct decode_item **items, size_t *nr);

/* The name of a thread at a time, valid until the next call. NULL: unknown. */
const char *decode_thread_name(struct decode *decode, int tid, uint64_t time);

/* The symbol of an address in the item's process, named as by perf; never NULL. Stays valid. */
const struct symbol *decode_symbol(struct decode *decode, const struct decode_item *item,
				   uint64_t ip);

struct code_file;

/* As code_files(). Call at the end. */
int decode_code_files(struct decode *decode, struct code_file **files, size_t *nr);

void decode_stats(const struct decode *decode, struct decode_stats *stats);

#endif
