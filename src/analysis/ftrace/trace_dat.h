/* SPDX-License-Identifier: GPL-2.0-only */
/**
 * @file
 * The records of ftrace's rings in a trace.dat, in order of time, with what libtracecmd knows of
 * their events, functions and tasks.
 *
 *	trace_dat_read(&dat, &opts, &why);
 *	for (size_t i = 0; i < dat->nr_records; i++)
 *		...
 *	trace_dat_free(dat);
 *
 * Nothing in libtracecmd is written for the files of strangers: lengths, offsets and formats in
 * them are trusted. So a process of its own runs it, which can do nothing but read this file and
 * write an image of what it found: it opens, sends and executes nothing, its memory and the image
 * are bounded, and it ends with this process. The image is trusted no more than the file.
 */
#ifndef ANALYSIS_TRACE_DAT_H
#define ANALYSIS_TRACE_DAT_H

#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "util.h"

/* The name in a capture. */
#define TRACE_DAT_NAME "trace.dat"

struct trace_dat_record {
	uint64_t time; /* on the clock of the trace */
	uint64_t at;   /* its bytes in the image */
	uint32_t size;
	int32_t cpu;
	bool missed; /* records of the CPU before this one are lost */
};

/* The kernel's text of an event's format: events/SYSTEM/NAME/format. */
struct trace_dat_format {
	uint64_t id;
	const char *system;
	const char *text;
	uint64_t size;
};

/* Addresses from `start` on, as far as they are known to be in the function. */
struct trace_dat_symbol {
	uint64_t start, end;
	const char *name;
};

struct trace_dat_task {
	int32_t tid;
	const char *comm;
};

/* Of the kernel's memory, to which a record points. */
struct trace_dat_string {
	uint64_t address;
	const char *text;
};

struct trace_dat {
	const uint8_t *image;
	uint64_t size;
	uint32_t long_size;
	struct trace_dat_record *records;
	struct trace_dat_format *formats;
	struct trace_dat_symbol *symbols; /* of all kernel addresses in the records */
	struct trace_dat_task *tasks;
	struct trace_dat_string *strings; /* reasons of interrupts from other CPUs, on arm64 */
	size_t nr_records, nr_formats, nr_symbols, nr_tasks, nr_strings;
};

struct trace_dat_opts {
	const char *path;
	uint64_t begin, end;		   /* inclusive */
	const volatile sig_atomic_t *stop; /* once not 0, the reading ends; may be NULL */
};

/* Returns 0, or a negative errno with *why (may be NULL), to be freed: -EINTR if stopped, -EINVAL
 * if damaged, -ENOTSUP if built without libtracecmd. -ENOMEM has no *why: the process that reads
 * has half of the limit of this one, and the image has the same. */
int trace_dat_read(struct trace_dat **ret, const struct trace_dat_opts *opts,
		   char **why) _must_check_;
void trace_dat_free(struct trace_dat *dat);

/* Reads an image, which is untrusted, and takes it: it is unmapped on failure, too. Returns as
 * above. */
int trace_dat_of_image(struct trace_dat **ret, const uint8_t *image, uint64_t size) _must_check_;

/* Whether this program was built with libtracecmd. */
bool trace_dat_is_built(void);

/* ---- trace_dat_child.c ---------------------------------------------------------------------- */

enum trace_dat_item {
	TRACE_DAT_RECORD = 1,
	TRACE_DAT_FORMAT,
	TRACE_DAT_SYMBOL,
	TRACE_DAT_TASK,
	TRACE_DAT_STRING,
	TRACE_DAT_END, /* the last one: the image is complete */
};

/* Each item of the image begins with this; the next one follows at a multiple of 8. */
struct trace_dat_head {
	uint32_t item, size; /* size: of what follows */
	uint64_t numbers[2]; /* time, CPU and `missed`; ID; start and end; tid; address;
			      * size of a long */
};

#define TRACE_DAT_MISSED (UINT64_C(1) << 32) /* beside the CPU's number */

/* Exit statuses. */
enum trace_dat_exit {
	TRACE_DAT_DONE,
	TRACE_DAT_NOT_ONE, /* libtracecmd does not read it */
	TRACE_DAT_TOO_BIG, /* memory, or the image */
	TRACE_DAT_NOT_BUILT,
};

/* Reads the file and writes the image, in a child process. Returns the exit status. */
int trace_dat_child(int file, int image, const struct trace_dat_opts *opts);

#endif
