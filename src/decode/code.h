/* SPDX-License-Identifier: GPL-2.0-only */
/* The code that was traced: its bytes for libipt, its functions, its straight blocks.
 *
 * A `struct code` is of one perf.data and is shared by threads. Each thread has a view of its own.
 * Files are opened when code of them is executed for the first time. */
#ifndef DECODE_CODE_H
#define DECODE_CODE_H

#include <stdbool.h>
#include <stddef.h>

#include "build_id.h"
#include "symbol.h"
#include "util.h"

struct code;
struct code_view;
struct pt_block;
struct pt_image;
struct sideband;

struct code_opts {
	const char *data;	 /* perf.data: the file, or the folder of it and kcore_dir */
	const char *buildid_dir; /* where files by build id are first looked for; NULL: nowhere */
	const char *symfs;	 /* where files by name are; NULL: the root */
	const struct sideband *sideband; /* must stay */
};

/* Returns 0, or a negative errno with *why, for the caller to free. */
int code_new(struct code **ret, const struct code_opts *opts, char **why) _must_check_;
/* After its views. */
void code_free(struct code *code);

int code_view_new(struct code_view **ret, struct code *code) _must_check_;
void code_view_free(struct code_view *view);

/* What a process can execute at `time`: its files and the kernel, as it is patched then. It holds
 * for times before *until, and as long as it is the last one asked for. NULL if there is no memory.
 * The decoder must not mark jumps and calls as parts of a block: end_on_call and end_on_jump. */
struct pt_image *code_view_image(struct code_view *view, int pid, uint64_t time, uint64_t *until);

enum code_branch {
	CODE_NO_BRANCH,
	CODE_JUMP,
	CODE_COND, /* a jump that may not be taken */
	CODE_CALL,
	CODE_RETURN,
	CODE_SYSCALL,
	CODE_SYSRET,
	CODE_IRET,
	CODE_INT, /* int, int3, into, int1, ud */
	CODE_OTHER,
};

/* Instructions of one function; only the last may change whether interrupts are on. */
struct code_row {
	uint64_t first, last;
	const struct symbol *symbol;
	uint32_t insns;
	uint8_t irqs; /* enum irq_change */
};

/* Straight code. It stays until code_view_free(). */
struct code_block {
	uint64_t first, last; /* instructions */
	const struct code_row *rows;
	/* Of all of it, if it is one row that changes nothing of interrupts; else NULL. */
	const struct symbol *symbol;
	uint32_t nr_rows;
	uint32_t insns;
	uint8_t length; /* of the last instruction; 0: not known */
	uint8_t iclass; /* enum pt_insn_class, of the last */
	uint8_t branch; /* enum code_branch, of the last */
};

/* Of what libipt decoded with the last image. NULL if there is no memory. */
const struct code_block *code_view_block(struct code_view *view, const struct pt_block *block);

/* As perf names it; [FILE] or [unknown], without addresses, where there is no symbol. NULL if there
 * is no memory. */
const struct symbol *code_view_symbol(struct code_view *view, int pid, uint64_t time, uint64_t ip);

/* A function of the kernel by its name. -ENOENT: there is none. */
int code_kernel_symbol(const struct code *code, const char *name, uint64_t *start, uint64_t *end);

/* A file of user space that code was executed of, or the kernel. */
struct code_file {
	const char *name;   /* as the traced task had it */
	struct build_id id; /* size 0: not recorded */
	const char *path;   /* where it is here; NULL: nowhere */
	const char *why;    /* of that; else NULL */
	uint64_t ip;	    /* the first address that was executed */
};

/* Each once, for the caller to free; the strings are those of `code`. After the views were used. */
int code_files(struct code *code, struct code_file **files, size_t *nr) _must_check_;

#endif
