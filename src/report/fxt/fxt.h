/* SPDX-License-Identifier: GPL-2.0-only */
/* Records of the Fuchsia trace format:
 * https://fuchsia.dev/fuchsia-src/reference/tracing/trace-format */
#ifndef REPORT_FXT_H
#define REPORT_FXT_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "timeline.h"

#define FXT_STRINGS_MAX 32767
#define FXT_THREADS_MAX 255
#define FXT_ARGS_MAX 15

struct fxt_thread {
	uint64_t process, thread; /* koids */
	uint8_t index;		  /* in the table of threads, if that has it still */
};

struct fxt;

/* Tables are of so many entries; 0 for what the format allows. What is written goes to a file of
 * fxt_begin(). */
int fxt_new(struct fxt **ret, const struct names *names, uint16_t max_strings,
	    uint8_t max_threads) _must_check_;
void fxt_free(struct fxt *fxt);

/* What follows goes to this file and refers to nothing that was written before. */
void fxt_begin(struct fxt *fxt, FILE *file);

/* Begins an archive: whose it is, and that a tick is a nanosecond. */
void fxt_header(struct fxt *fxt, const char *provider);

void fxt_event(struct fxt *fxt, struct fxt_thread *thread, const struct track_event *event);

/* What a process, or a thread of it, is called. */
void fxt_process(struct fxt *fxt, uint64_t process, uint32_t name);
void fxt_thread(struct fxt *fxt, const struct fxt_thread *thread, uint32_t name,
		uint32_t process_key);

/* A CPU goes from one thread to another. */
void fxt_switch(struct fxt *fxt, uint64_t at, uint16_t cpu, uint64_t from, uint64_t to);

/* All is in the file; before anything else is done with that. Returns 0, or the first failure to
 * write as a negative errno. */
int fxt_flush(struct fxt *fxt);

#endif
