/* SPDX-License-Identifier: GPL-2.0-only */
/* Finds, reads and decodes captures. This folder may include cli/ and src/report. */
#ifndef CTL_CAPTURES_H
#define CTL_CAPTURES_H

#include <sys/stat.h>

#include "build_id.h"
#include "calls/calls.h"
#include "capture/capture_file.h"
#include "cause/account.h"
#include "cli/cli.h"
#include "code/files.h"
#include "compare/compare.h"
#include "facts/user_code.h"
#include "pt/decode.h"
#include "util.h"

/* -- Folder of captures ------------------------------------------------------------------------ */

/* The default of start's --output. */
#define FOLDER_DEFAULT "perf-poke.data"
#define FOLDER_CAPTURE_HELP                                                                        \
	"folder of a capture, or of captures: the newest one\n(" FOLDER_DEFAULT ")"

/* Chooses the capture of a command: `word`, or the newest in it if it is a folder of captures; NULL
 * is FOLDER_DEFAULT. Returns 0 with *path (allocated), or a negative errno after printing the
 * error. */
int folder_choose(struct console *con, const char *word, char **path) _must_check_;

/* Finds the capture of a poke by its sequence number. Returns 0 with *path (allocated), or a
 * negative errno: -ENOENT if there is none. */
int folder_poked(const char *folder, uint64_t sequence, char **path) _must_check_;

/* -- Trace ------------------------------------------------------------------------------------- */

/* All functions print errors and return 0 or a negative errno. */

/* Opens the capture, for capture_file_close(), also on failure. */
int capture_trace_open(struct console *con, const char *folder,
		       struct capture_file *capture) _must_check_;

/* The same, and checks that perf.data, whose path is allocated in *data, is complete: perf
 * crashes or hangs on truncated files. *data is NULL if a poked perf has the trace. */
int capture_trace_find(struct console *con, const char *folder, struct capture_file *capture,
		       char **data) _must_check_;

/* The same, but a capture without trace is an error. */
int capture_trace_need(struct console *con, const char *folder, struct capture_file *capture,
		       char **data) _must_check_;

/* Whether the trace has no times; prints the error. */
bool capture_trace_lacks_times(struct console *con, const char *folder, const struct facts *facts);

/* Allocates the path for perf's --buildid-dir, which captures from archives have; else NULL.
 * Returns 0 or -ENOMEM and prints nothing. */
int capture_trace_buildid_dir(const char *folder, char **buildid_dir) _must_check_;

/* Opens the events of perf.data, and `user`, which names the functions of programs in them and
 * refers to data and symfs. user->buildid_dir is allocated. Returns 0, or a negative errno with
 * *why, or NULL. */
int capture_trace_events(struct tracepoints **tracepoints, struct user_code *user,
			 const char *folder, const char *data, const char *symfs,
			 const struct sample_window *window, char **why) _must_check_;

/* Prints an error about a capture: `why` or that of r. Returns r. */
int capture_trace_error(struct console *con, const char *folder, int r, const char *why);

/* -- Captures that are changed while they are read ----------------------------------------------
 */

#define UNCHANGED_FILES 5

struct unchanged {
	const char *folder;
	int dirfd;
	struct stat files[UNCHANGED_FILES];
};

/* `folder` is not copied. */
void unchanged_begin(struct unchanged *unchanged, const char *folder);

/* Returns r, or -ESTALE after printing which file was changed or truncated since. */
int unchanged_end(struct unchanged *unchanged, struct console *con, int r) _must_check_;

/* -- Functions of programs in the stacks of a spike -------------------------------------------- */

/* The stacks of a spike, of capture_file_open(). Frames of files that are not found, or have no
 * build ID, keep their names. */
void user_frames_name(struct facts *facts, const struct perf_poke_spike *spike,
		      const struct files_places *places);

/* -- Decoding of Intel PT ---------------------------------------------------------------------- */

/* Of a trace without times, only the last bytes are decoded. */
#define DECODING_TAIL (128 * 1024)

#define DECODING_SYMFS_HELP "look for traced files under this folder"

struct decoding {
	const char *folder; /* of the capture */
	const char *data;   /* its perf.data */
	const char *symfs;  /* see struct decode_opts */
	const struct facts *facts;
	const char *doing; /* for the status line */
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

/* Between ending_catch() and ending_release(), signals cancel it. Returns 0, or a negative errno
 * after printing the error. */
int decoding_run(struct console *con, const struct decoding *decoding,
		 const struct timeline_ops *ops, void *sink, struct names *names,
		 struct decoding_result *result) _must_check_;

/* Allocates the build ids of the user-space files that were executed. Returns as above. */
int decoding_files(struct console *con, const struct decoding *decoding, struct build_id **ids,
		   size_t *nr) _must_check_;

/* -- Cause ------------------------------------------------------------------------------------- */

/* Decoding takes long, so what a report concludes is kept in the user's cache. */

struct verdict {
	json_object *json;		/* sentence, cause and fingerprint, as in report --json */
	struct fingerprint fingerprint; /* empty kind: the capture has none */
};

/* Reads what is kept. Returns 0, -ENOENT if there is none, or -ENOMEM. */
int verdict_kept(struct verdict *verdict, const char *folder) _must_check_;

/* Returns 0 or -ENOMEM. */
int verdict_of_account(struct verdict *verdict, const struct account *account) _must_check_;

/* Keeps it, unless decoding had errors or symbols were missing. Failures are ignored: it can be
 * found again. */
void verdict_keep(const struct verdict *verdict, const struct account *account);

void verdict_release(struct verdict *verdict);

/* The sentence, or "". */
const char *verdict_sentence(const struct verdict *verdict);

/* -- Report ------------------------------------------------------------------------------------ */

struct account_want {
	uint64_t window_ns; /* before the spike; 0: default */
	uint64_t after_ns;  /* after the spike */
	const char *symfs;  /* see struct decode_opts */
};

/* Returns 0, or a negative errno after printing the error: -EINTR for a signal. `folder` is not
 * copied. */
int account_load(struct account *account, struct console *con, const char *folder,
		 const struct account_want *want) _must_check_;

/* What a report with its defaults concludes, from the user's cache if it is there. Returns as
 * account_load(). */
int verdict_load(struct verdict *verdict, struct console *con, const char *folder) _must_check_;

/* -- Comparison -------------------------------------------------------------------------------- */

/* Default of `activations`. */
#define NORMAL_ACTIVATIONS 100

struct comparison_want {
	const char *folder;
	const char *against; /* another capture; NULL: normal activations of the same one */
	const char *symfs;   /* see struct decode_opts */
	size_t activations;  /* normal ones */
};

/* The strings must stay valid. Call comparison_release() even on failure. Returns 0, or a negative
 * errno after printing the error: -EXDEV if the captures cannot be compared. */
int comparison_load(struct comparison *comparison, struct console *con,
		    const struct comparison_want *want) _must_check_;

/* -- The installed perf ------------------------------------------------------------------------ */

struct perf_tool {
	char *path;
	char version[128]; /* such as `perf version 6.1.192` */
};

/* Finds a program in $PATH, unless its name has a slash. Returns 0, -ENOENT or -ENOMEM. */
int perf_tool_search(const char *name, char **path) _must_check_;

/* Finds perf: $PERF_POKE_PERF, else in $PATH. Returns 0, or a negative errno with *why (allocated).
 */
int perf_tool_find(struct perf_tool *perf, char **why) _must_check_;

/* Whether perf was built with a disassembler. */
bool perf_tool_disassembles(const struct perf_tool *perf);

/* Runs a command; take() gets each line of its standard output, and with `errors` of its standard
 * error, without newline. Returns the exit status, or a negative errno. */
int perf_tool_lines(char *const *argv, bool errors, void (*take)(void *ctx, char *line),
		    void *ctx) _must_check_;

void perf_tool_release(struct perf_tool *perf);

/* -- The perf script command that shows a capture ---------------------------------------------- */

#define VIEW_WINDOW_PT_NS UINT64_C(200000)
#define VIEW_WINDOW_EVENTS_NS UINT64_C(10000000)

enum view_insns {
	VIEW_INSNS_NONE, /* calls and returns */
	VIEW_INSNS_RAW,
	VIEW_INSNS_XED,
	VIEW_INSNS_DISASM,
};

struct view_options {
	uint64_t window_ns; /* before the spike; 0: default of the recorder */
	bool all;	    /* no window */
	bool all_cpus;
	const char *cpus; /* a list; NULL: the spike's CPU, unless all_cpus */
	enum view_insns insns;
	const char *buildid_dir; /* or NULL */
	const char *symfs;	 /* or NULL */
	char **rest;		 /* more arguments, NULL-terminated; or NULL */
};

/* Builds a NULL-terminated argv for argv_free_words(). Returns 0 or -ENOMEM. */
int view_argv(const struct facts *facts, const struct view_options *options, const char *perf,
	      const char *data, char ***argv) _must_check_;

#endif
