/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Writes timelines as files: in Perfetto's format (.pftrace), or in the Fuchsia trace format
 * (.fxt): https://fuchsia.dev/fuchsia-src/reference/tracing/trace-format
 */
#ifndef ANALYSIS_FXT_H
#define ANALYSIS_FXT_H

#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "calls/cpu.h"
#include "calls/timeline.h"
#include "facts/arrows.h"
#include "facts/captures.h"
#include "facts/samples.h"

#define FXT_STRINGS_MAX 32767
#define FXT_THREADS_MAX 255
#define FXT_ARGS_MAX 15

/* Records. */
struct fxt_thread {
	uint64_t process, thread; /* koids */
	int cpu;		  /* a track of this CPU; -1: of a thread */
	uint8_t index;		  /* in the table of threads, unless replaced */
};

/* A stack that was sampled, innermost function first. */
struct fxt_sample {
	uint64_t at;
	int cpu, pid, tid; /* pid and tid -1: unknown */
	uint32_t process_name, thread_name;
	const uint32_t *frames;
	const struct samples_file *files; /* of the frames */
	uint32_t nr, nr_kernel;		  /* the kernel's are innermost */
};

struct fxt_timeline;
struct fxt_timeline_opts;

/* Writes the records of a format. begin_file() comes first, and begins a file or a part of it, with
 * empty tables. */
struct trace_format {
	bool in_any_order; /* events of a track need not be in order of time */
	int (*new)(void **ret, struct names *names, const struct fxt_timeline_opts *opts);
	void (*free)(void *writer);
	void (*begin_file)(void *writer, FILE *file);
	void (*write_header)(void *writer, const struct facts *facts);
	/* Names a process and its thread. */
	void (*write_names)(void *writer, const struct fxt_thread *thread, uint32_t process_name,
			    uint32_t thread_name);
	void (*write_event)(void *writer, struct fxt_thread *thread,
			    const struct track_event *event);
	/* A context switch. NULL: tracks show it. */
	void (*write_switch)(void *writer, uint64_t at, uint16_t cpu, uint64_t from, uint64_t to);
	/* NULL: instants show it. */
	void (*write_sample)(void *writer, const struct fxt_sample *sample);
	/* Writes what is buffered. Returns 0 or the first error as a negative errno. */
	int (*flush)(void *writer);
};

extern const struct trace_format fxt_format, pftrace_format;

/* By the end of a file's name, .gz or not; NULL: of none. */
const struct trace_format *trace_format_of(const char *path);

#define SPAN_TEXT_MAX 64

/* Writes a span as --time takes it. Returns its length. */
size_t fxt_format_span(char text[SPAN_TEXT_MAX], uint64_t begin, uint64_t end);

/* A timeline as a file. A slice may turn out to have begun before all that was written, but must
 * come first in the file. So the body goes to a file of its own, and is copied at the end. */
struct fxt_timeline_opts {
	int fd;		      /* output; stays open */
	int body;	      /* an empty file on the same file system; stays open */
	const char *path;     /* of the output, compressed if it ends with .gz */
	uint16_t max_strings; /* of the tables of .fxt; 0: the format's maximum */
	uint8_t max_threads;
	const volatile sig_atomic_t *stop; /* -EINTR once set; may be NULL */
	const struct facts *facts;	   /* of the machine; may be NULL */
	uint32_t process_key;		   /* set by fxt_timeline_new() */
	bool is_monotonic;		   /* times are CLOCK_MONOTONIC */
	/* Set by timeline_export(): hears of each interrupt, and adds events before the end. */
	struct {
		void (*interrupt)(void *ctx, int cpu, uint64_t at, uint32_t name);
		int (*end)(void *ctx, struct fxt_timeline *sink);
		void *ctx;
	} listener;
};

/* The sink of fxt_timeline_ops. */
int fxt_timeline_new(struct fxt_timeline **ret, const struct fxt_timeline_opts *opts,
		     struct names *names) _must_check_;
void fxt_timeline_free(struct fxt_timeline *sink);

/* Times of the first and the last event so far. */
void fxt_timeline_find_range(const struct fxt_timeline *sink, uint64_t *first, uint64_t *last);

/* Whether the format has samples. In others they are instants. */
bool fxt_timeline_has_samples(const struct fxt_timeline *sink);
void fxt_timeline_add_sample(struct fxt_timeline *sink, const struct fxt_sample *sample);

/* Of a decoded trace, beside which events have the senders of interrupts, and wakers: arrows, in
 * formats that take events in any order. */
struct code_arrows {
	struct arrows arrows;
	struct names *names;
	struct cpu_names cpu_names;
	uint64_t begin, end;  /* the window */
	uint64_t first, last; /* of the trace in it */
	/* Of Intel PT, whose events are read at the end; NULL: the caller adds them. */
	const struct timeline_export *export;
	struct code_interrupt {
		uint64_t at;
		int cpu;
		uint32_t name;
	} * interrupts;
	size_t nr;
	int err;
};

/* Makes it the listener. The caller has set names and what follows cpu_names. */
int code_arrows_listen(struct code_arrows *arrows, struct fxt_timeline_opts *opts) _must_check_;
void code_arrows_release(struct code_arrows *arrows);

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
