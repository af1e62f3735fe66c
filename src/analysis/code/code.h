/* SPDX-License-Identifier: GPL-2.0-only */
/* The traced code: its bytes for libipt, its functions, its straight blocks. Threads share the
 * `struct code` of a perf.data. Each thread has a view of its own. Files are opened when code in
 * them is first executed. */
#ifndef DECODE_CODE_H
#define DECODE_CODE_H

#include <stdbool.h>
#include <stddef.h>

#include "build_id.h"
#include "code/names.h"
#include "util.h"

struct code;
struct code_view;
struct pt_block;
struct pt_image;
struct sideband;
struct symbolizer;

struct code_opts {
	const char *data;	 /* the file perf.data, or its folder with kcore_dir */
	const char *buildid_dir; /* searched first, by build ID; NULL: none */
	const char *symfs;	 /* root of files searched by name; NULL: / */
	struct symbolizer
		*symbolizer; /* of the same folders; must stay valid. NULL: one of its own */
	const struct sideband *sideband; /* must stay valid */
	bool inlined;			 /* wanted: functions that are inlined */
};

/* Returns 0, or a negative errno with *why, for the caller to free. */
int code_new(struct code **ret, const struct code_opts *opts, char **why) _must_check_;
/* Free its views first. */
void code_free(struct code *code);

int code_view_new(struct code_view **ret, struct code *code) _must_check_;
void code_view_free(struct code_view *view);

/* The code that a process can execute at `time`: its files, and the kernel as patched then. Valid
 * for times before *until, and until the next request. NULL if out of memory. The decoder must end
 * blocks at calls and jumps: end_on_call and end_on_jump. */
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
	CODE_VM_ENTRY, /* vmlaunch, vmresume */
};

/* A function that is inlined in another. */
struct code_inlined {
	const char *text;
	uint32_t name; /* 0: not numbered yet, by the thread that uses symbols */
};

/* Those at an address, callers first. */
struct code_chain {
	uint32_t nr;
	struct code_inlined *list[];
};

/* Instructions of one function; only the last one may turn interrupts on or off. */
struct code_row {
	uint64_t first, last;
	const struct symbol *symbol;
	const struct code_chain *chain; /* inlined there; NULL: none */
	uint32_t insns;
	uint8_t irqs; /* enum irq_change */
};

/* Straight code. Valid until code_view_free(). */
struct code_block {
	uint64_t first, last; /* addresses of instructions */
	const struct code_row *rows;
	/* Symbol of the block, if it is one row that neither changes interrupts nor waits for one,
	 * in a function in which nothing is inlined; else NULL. */
	const struct symbol *symbol;
	uint32_t nr_rows;
	uint32_t insns;
	uint8_t length; /* of the last instruction; 0: unknown */
	uint8_t iclass; /* enum pt_insn_class, of the last */
	uint8_t branch; /* enum code_branch, of the last */
	bool waits;	/* for an interrupt: hlt, mwait */
};

/* For a block that libipt decoded with the last image. NULL if out of memory. */
const struct code_block *code_view_block(struct code_view *view, const struct pt_block *block);

/* perf's name of the symbol; without one, [FILE] or [unknown] without addresses. NULL if out of
 * memory. */
const struct symbol *code_view_symbol(struct code_view *view, int pid, uint64_t time, uint64_t ip);

/* Finds a kernel function by name. -ENOENT: none. */
int code_kernel_symbol(const struct code *code, const char *name, uint64_t *start, uint64_t *end);

/* A file of executed user code, or the kernel. */
struct code_file {
	const char *name;   /* path in the traced task */
	struct build_id id; /* size 0: not recorded */
	const char *path;   /* path on this machine; NULL: none */
	const char *why;    /* why there is no path; NULL: there is one */
	uint64_t ip;	    /* first address executed */
};

/* Lists each file once. The caller frees the list; the strings belong to `code`. Call after the
 * views were used. */
int code_files(struct code *code, struct code_file **files, size_t *nr) _must_check_;

#endif
