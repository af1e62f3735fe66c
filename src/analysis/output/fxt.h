/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Writes timelines in the Fuchsia trace format:
 * https://fuchsia.dev/fuchsia-src/reference/tracing/trace-format
 */
#ifndef ANALYSIS_FXT_H
#define ANALYSIS_FXT_H

#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "calls/timeline.h"
#include "facts/captures.h"

#define FXT_STRINGS_MAX 32767
#define FXT_THREADS_MAX 255
#define FXT_ARGS_MAX 15

/* Records. */
struct fxt_thread {
	uint64_t process, thread; /* koids */
	uint8_t index;		  /* in the table of threads, unless replaced */
};

struct fxt;

/* Limits the tables of strings and threads; 0: the format's maximum. Call fxt_begin_file() before
 * writing. */
int fxt_new(struct fxt **ret, const struct names *names, uint16_t max_strings,
	    uint8_t max_threads) _must_check_;
void fxt_free(struct fxt *fxt);

/* Begins a file, with empty tables. */
void fxt_begin_file(struct fxt *fxt, FILE *file);

/* Writes the header: the provider, and nanosecond ticks. */
void fxt_write_header(struct fxt *fxt, const char *provider);

void fxt_write_event(struct fxt *fxt, struct fxt_thread *thread, const struct track_event *event);

/* Names a process or a thread. */
void fxt_write_process(struct fxt *fxt, uint64_t process, uint32_t name);
void fxt_write_thread(struct fxt *fxt, const struct fxt_thread *thread, uint32_t name,
		      uint32_t process_key);

/* A context switch. */
void fxt_write_switch(struct fxt *fxt, uint64_t at, uint16_t cpu, uint64_t from, uint64_t to);

/* Writes the buffer to the file. Returns 0 or the first error as a negative errno. */
int fxt_flush(struct fxt *fxt);

/* A timeline as a file. A slice may turn out to have begun before all that was written, but must
 * come first in the file. So the body goes to a file of its own, and is copied at the end. */
struct fxt_timeline_opts {
	int fd;		      /* output; stays open */
	int body;	      /* an empty file on the same file system; stays open */
	const char *path;     /* of the output, compressed if it ends with .gz */
	uint16_t max_strings; /* see fxt_new() */
	uint8_t max_threads;
	const volatile sig_atomic_t *stop; /* -EINTR once set; may be NULL */
};

struct fxt_timeline;

/* The sink of fxt_timeline_ops. */
int fxt_timeline_new(struct fxt_timeline **ret, const struct fxt_timeline_opts *opts,
		     struct names *names) _must_check_;
void fxt_timeline_free(struct fxt_timeline *sink);

/* finish() writes the output. */
extern const struct timeline_ops fxt_timeline_ops;

/* The trace of a capture, of Intel PT or of events. */
struct timeline_export {
	const struct analysis_hooks *hooks;
	const char *folder; /* of the capture */
	const char *data;   /* its perf.data */
	const struct facts *facts;
	const char *time;     /* for time_window_parse(); NULL: all */
	const char *symfs;    /* see struct decode_opts */
	enum calls_axis axis; /* of Intel PT */
	unsigned int threads; /* that decode; 0: one for each CPU */
};

/* Of events, the result has slices only. Returns 0, or a negative errno with *why. */
int timeline_export(const struct timeline_export *export, const struct fxt_timeline_opts *file,
		    struct decoding_result *result, char **why) _must_check_;

/* Parses a window of time.
 * `-200us,50us` is relative to the spike; `7.788,7.789` are seconds of the trace's clock, as in
 * perf. An empty side becomes 0 or UINT64_MAX. The result is ns of the trace's clock. Returns 0,
 * -EINVAL if malformed, -ERANGE if empty, or -ENOENT if relative without a spike (0).
 */
int time_window_parse(const char *s, uint64_t spike, uint64_t *begin, uint64_t *end) _must_check_;

#endif
