/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Captures: folders that a session has written, or that come from archives of strangers.
 *
 * Finds, opens and decodes them. All functions that take `why` set it, if they fail, to the whole
 * message, allocated; NULL: no memory. Nothing is printed.
 */
#ifndef ANALYSIS_CAPTURES_H
#define ANALYSIS_CAPTURES_H

#include <perf_poke.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdint.h>
#include <sys/stat.h>

#include "build_id.h"
#include "calls/calls.h"
#include "code/files.h"
#include "facts/facts.h"
#include "facts/user_code.h"
#include "pt/decode.h"
#include "util.h"

/* -- Caller ------------------------------------------------------------------------------------ */

/* The default of max_size: half of the memory of a small machine, which is what a file system in
 * memory takes. */
#define CAPTURE_MAX_SIZE (UINT64_C(2) << 30)

/* What a caller hears while captures are read, and how it stops that. All may be 0. */
struct analysis_hooks {
	void *ctx;
	/* Errors that do not end the work, and warnings. */
	void (*message)(void *ctx, enum perf_poke_log_level level, const char *text);
	/* Progress such as `decoding: 12%`; NULL: done. Not called if nobody looks at it. */
	void (*progress)(void *ctx, const char *text);
	/* Before files are made: does not return while the caller ends the process. */
	void (*hold)(void);
	const volatile sig_atomic_t *stop; /* the work ends with -EINTR once it is set */
	atomic_bool *is_truncated;	   /* set when zeros are read beyond the end of a file */
	const char *no_memory;		   /* the message for -ENOMEM */
	uint64_t max_size;		   /* that archives may have when unpacked; 0: default */
	const char *symfs;		   /* of verdicts: see struct account_want */
};

void hooks_show_message(const struct analysis_hooks *hooks, enum perf_poke_log_level level,
			const char *format, ...) _printf_(3, 4);

/* Progress is shown of what takes long. */
#define SHOW_AFTER_NS NSEC_PER_SEC
#define SHOW_EVERY_NS (NSEC_PER_SEC / 5)

/* Progress through captures, which are many. All zero is none so far. */
struct hooks_count {
	size_t nr;
	uint64_t next_ns; /* when to show it */
};

/* Shows that the next capture is read, at most some times a second. total 0: unknown. */
void hooks_count_capture(const struct analysis_hooks *hooks, struct hooks_count *count,
			 size_t total);

const char *hooks_error_text(const struct analysis_hooks *hooks, int err);

/* Sets *why, which it frees before, to a message as it is: names in it are not made
 * printable. Returns err. */
int failure_explain(char **why, int err, const char *format, ...) _printf_(3, 4);

/* The same for an error about a capture: *why if there is one, or else the text of err. */
int capture_failure(const struct analysis_hooks *hooks, const char *folder, int err, char **why);

/* -- Layout ------------------------------------------------------------------------------------ */

#define CAPTURE_FILE_NAME "capture.json"

/* The name in an archive of captures that were renamed. */
#define LAYOUT_ANY_NAME "capture"

/* Additional contents of a capture from an archive. */
#define LAYOUT_HOST "host.json"
#define LAYOUT_BUILDID "buildid"

/* The folder in an archive of selftest, with captures and results. */
#define LAYOUT_SELFTEST "perf-poke-selftest"

/* -- Folder of captures ------------------------------------------------------------------------ */

/* The default of start's --output. */
#define FOLDER_DEFAULT "perf-poke.data"

/* Chooses a capture: `word`, or the newest in it if it is a folder of captures; NULL is
 * FOLDER_DEFAULT. Returns 0 with *path (allocated), or a negative errno with *why. */
int capture_folder_choose(const char *word, char **path, char **why) _must_check_;

/* Finds the capture of a poke by its sequence number. Returns 0 with *path (allocated), or a
 * negative errno: -ENOENT if there is none. */
int capture_folder_of_poke(const char *folder, uint64_t sequence, char **path) _must_check_;

/* -- capture.json ------------------------------------------------------------------------------ */

/* A capture that the library has read, and the facts about its spike. */
struct capture_file {
	const struct perf_poke_capture *capture;
	struct facts facts;
};

/* Call capture_file_close() even on failure. Returns 0, -ENOMEM, -EINVAL or -ENOTSUP with *why,
 * which is without the name of the file, or the errno of reading the file. */
int capture_file_open(struct capture_file *file, const char *folder, char **why) _must_check_;
void capture_file_close(struct capture_file *file);

/* A number, or `unknown` if missing; a text, or "". */
uint64_t capture_file_number(const struct capture_file *file, const char *path, uint64_t unknown);
const char *capture_file_text(const struct capture_file *file, const char *path);

/* By its name in capture.json. AUTO: unknown. */
enum perf_poke_recorder capture_recorder_kind(const char *name);

void capture_statistics(struct statistics *statistics, const struct capture_file *file);

/* -- Trace ------------------------------------------------------------------------------------- */

/* All return 0, or a negative errno with *why. */

/* Opens the capture, for capture_file_close(), also on failure. */
int capture_trace_open(const char *folder, struct capture_file *capture, char **why) _must_check_;

/* The same, and checks that perf.data, whose path is allocated in *data, is complete: perf
 * crashes or hangs on truncated files. Of ftrace it is the path of trace.dat. *data is NULL if a
 * poked perf has the trace. */
int capture_trace_find(const struct analysis_hooks *hooks, const char *folder,
		       struct capture_file *capture, char **data, char **why) _must_check_;

/* The same, but a capture without trace is an error. */
int capture_trace_need(const struct analysis_hooks *hooks, const char *folder,
		       struct capture_file *capture, char **data, char **why) _must_check_;

/* -ENODATA if the trace has no times. */
int capture_trace_need_times(const char *folder, const struct facts *facts,
			     char **why) _must_check_;

/* Allocates the path for perf's --buildid-dir, which captures from archives have; else NULL.
 * Returns 0 or -ENOMEM. */
int capture_trace_buildid_dir(const char *folder, char **buildid_dir) _must_check_;

/* Opens the events of perf.data, and `user`, which names the functions of programs in them and
 * refers to data and symfs. user->buildid_dir is allocated. *why may be NULL, and is of the
 * file. */
int capture_trace_events(struct tracepoints **tracepoints, struct user_code *user,
			 const char *folder, const char *data, const char *symfs,
			 const struct sample_window *window, char **why) _must_check_;

/* The stack of a spike with the user frames that unwinding has found. */
struct unwound_stack {
	struct perf_poke_frame frames[STACK_FRAMES_MAX];
	const struct perf_poke_frame *rows[STACK_FRAMES_MAX];
	size_t nr; /* of rows; 0: what the capture has is better */
};

/* Unwinds the user stack that a capture has kept. Returns 0 or -ENOMEM. */
int capture_unwind(struct unwound_stack *unwound, const struct perf_poke_capture *capture,
		   const struct files_places *places, struct symbolizer *symbolizer) _must_check_;
void unwound_release(struct unwound_stack *unwound);

/* Frames as the capture has them, with names of the kernel's functions. */
void spike_stack_set(struct spike_stack *stack, const struct perf_poke_frame *const *frames,
		     size_t nr);

/* Names the functions of programs in the stacks of a spike, of capture_file_open(), and finds their
 * lines if `lines` is set. Frames of files that are not found, or have no build ID, keep their
 * names. */
void capture_name_frames(struct facts *facts, const struct perf_poke_spike *spike,
			 const struct unwound_stack *unwound, const struct files_places *places,
			 struct symbolizer *symbolizer, bool lines);

/* Captures that are changed while they are read. */
#define UNCHANGED_FILES 6

struct unchanged {
	const struct analysis_hooks *hooks;
	const char *folder;
	int dirfd;
	struct stat files[UNCHANGED_FILES];
};

/* `hooks` and `folder` are not copied. */
void unchanged_begin_check(struct unchanged *unchanged, const struct analysis_hooks *hooks,
			   const char *folder);

/* Returns err, or -ESTALE with *why if a file was changed or truncated since: what was *why goes to
 * hooks->message. */
int unchanged_end_check(struct unchanged *unchanged, int err, char **why) _must_check_;

/* -- Decoding of Intel PT ---------------------------------------------------------------------- */

/* Of a trace without times, only the last bytes are decoded. */
#define DECODING_TAIL (128 * 1024)

struct decoding {
	const struct analysis_hooks *hooks;
	const char *folder; /* of the capture */
	const char *data;   /* its perf.data */
	const char *symfs;  /* see struct decode_opts, also for the next */
	struct symbolizer *symbolizer;
	bool inlined;
	const struct facts *facts;
	const char *doing; /* for hooks->progress */
	int cpu;	   /* negative: all */
	uint64_t tail;	   /* see struct decode_opts */
	unsigned int threads;
	enum calls_axis axis;
	uint64_t begin, end; /* the window; 0 and UINT64_MAX for all */
};

struct decoding_result {
	uint64_t slices, gaps;
	uint64_t end; /* position on the axis */
	/* Executed on the spike's CPU after the spike, and for how long. */
	uint64_t after_insns, after_ns;
	/* Of the decoder, in the window; the first one, and what helps, or "". */
	uint64_t errors;
	char first_error[160];
	const char *error_help;
	struct decode_stats stats;
};

/* One for each CPU that this process may use. */
unsigned int decoding_threads(void);

/* Returns 0, or a negative errno with *why. */
int decoding_run_calls(const struct decoding *decoding, const struct timeline_ops *ops, void *sink,
		       struct names *names, struct decoding_result *result,
		       char **why) _must_check_;

/* Allocates the build ids of the user-space files that were executed. Returns as above. */
int decoding_find_executed(const struct decoding *decoding, struct build_id **ids, size_t *nr,
			   char **why) _must_check_;

#endif
