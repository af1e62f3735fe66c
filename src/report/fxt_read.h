/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A reader of the Fuchsia trace format, strict: what it does not know, or refers to nothing, is an
 * error. It knows what `export` writes. It holds the tables, not the file.
 */
#ifndef REPORT_FXT_READ_H
#define REPORT_FXT_READ_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "util.h"

#define FXT_READ_ARGS_MAX 15

enum fxt_read_type {
	FXT_READ_INSTANT = 0,
	FXT_READ_BEGIN = 2,
	FXT_READ_END = 3,
	FXT_READ_FLOW_BEGIN = 8,
	FXT_READ_FLOW_STEP = 9,
	FXT_READ_FLOW_END = 10,
};

enum fxt_read_arg_type {
	FXT_READ_NOTHING = 0,
	FXT_READ_I32 = 1,
	FXT_READ_U32 = 2,
	FXT_READ_I64 = 3,
	FXT_READ_U64 = 4,
	FXT_READ_DOUBLE = 5,
	FXT_READ_STRING = 6,
	FXT_READ_POINTER = 7,
	FXT_READ_KOID = 8,
	FXT_READ_BOOL = 9,
};

struct fxt_read_arg {
	enum fxt_read_arg_type type;
	const char *key;
	uint64_t value; /* of numbers: their bits */
	const char *text;
};

/* Valid until the function that it is given to returns. */
struct fxt_read_event {
	enum fxt_read_type type;
	uint64_t at; /* ns */
	uint64_t process, thread;
	const char *category, *name;
	const struct fxt_read_arg *args;
	size_t nr_args;
	uint64_t flow;
};

/* Each returns 0, or a negative errno that ends the reading. NULL: of no interest. */
struct fxt_read_ops {
	int (*event)(void *arg, const struct fxt_read_event *event);
	int (*process)(void *arg, uint64_t process, const char *name);
	int (*thread)(void *arg, uint64_t process, uint64_t thread, const char *name);
	int (*context_switch)(void *arg, uint64_t at, int cpu, uint64_t from, uint64_t to);
};

/* Returns 0, what one of the functions returned, or a negative errno; with -EBADMSG *why says, for
 * the caller to free, what is wrong and where. */
int fxt_read(FILE *file, const struct fxt_read_ops *ops, void *arg, char **why) _must_check_;

#endif
