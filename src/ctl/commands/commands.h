/* SPDX-License-Identifier: GPL-2.0-only */

/*
 * The commands, one file each: options and control flow; the work is done in the other folders.
 * Only main.c includes this folder. A command may include all folders but no other command.
 */
#ifndef CTL_COMMANDS_COMMANDS_H
#define CTL_COMMANDS_COMMANDS_H

#include <json-c/json.h>
#include <perf_poke.h>
#include <stdio.h>

#include "causes/causes.h"
#include "cli/cli.h"
#include "cli/perf_script.h"
#include "facts/captures.h"
#include "session/session.h"

extern const struct command command_start;
extern const struct command command_run;
extern const struct command command_causes;
extern const struct command command_check;
extern const struct command command_export;
extern const struct command command_archive;
extern const struct command command_list;
extern const struct command command_open;
extern const struct command command_report;
extern const struct command command_script;
extern const struct command command_selftest;
extern const struct command command_status;
extern const struct command command_stop;
extern const struct command command_poke;
extern const struct command command_report_late;

/* NULL-terminated. */
extern const struct command *const commands[];

/* Help of options that several commands have. */
#define FOLDER_CAPTURE_HELP                                                                        \
	"folder of a capture, or of captures: the newest one\n(" FOLDER_DEFAULT ")"
#define DECODING_SYMFS_HELP "look for traced files under this folder"

/* The commands `start` and `run`: from their command line to the options of a session. */
struct start_args {
	struct perf_poke_opts opts;
	struct target_args targets;
	uint64_t duration_ns;
	uint64_t auto_ns; /* 0: not given */
	const char *log;  /* NULL: standard error, or the choice of --detach */
	struct capture_hooks_opts hooks;
	char **program; /* of `run`; else NULL */
	bool detach;
	bool json, top;
	bool no_why;
	bool verbose;
};

/* For `start`, or `run` if argv[1] says so. Returns as command_options(). Strings other than those
 * of opts are not copied. Call start_release_args() even on failure. */
int start_parse_args(struct start_args *args, struct console *con, int argc,
		     char **argv) _must_check_;

void start_release_args(struct start_args *args);

/* Prints a session as text. */
/* In a terminal of so many columns; 0: not in one. */
void status_print_session(FILE *file, const struct perf_poke_session *session, size_t columns);

/* Selects and sorts the captures of a folder. */
enum list_order {
	LIST_BY_TIME,
	LIST_BY_LATENCY,
	LIST_BY_CPU,
	LIST_BY_SIZE,
};

struct list_args {
	const char *folder;
	enum list_order order;
	const char *cpus; /* NULL: all */
	uint64_t min_latency_ns;
	uint64_t since_ns; /* since 1970 */
	const char *symfs; /* or NULL */
	uint64_t max_size; /* 0: default */
	bool why;
	bool json;
};

struct list_entry {
	const struct perf_poke_capture *capture; /* owned */
	uint64_t size;				 /* bytes */
	struct verdict verdict;			 /* without JSON: not found yet */
};

/* Returns as command_options(). Strings are not copied. */
int list_parse_args(struct list_args *args, struct console *con, int argc,
		    char **argv) _must_check_;

/* Whether a capture matches the options. */
bool list_wants_capture(const struct list_args *args, const int *cpus, size_t nr_cpus,
			const struct perf_poke_capture *capture);

/* Ties are sorted by time, then by path. */
void list_sort_entries(struct list_entry *entries, size_t nr, enum list_order order);

/* Parses local time such as 2026-11-21 or 2026-11-21 07:01[:43], or a time before now such as 2h.
 * Returns 0 or -EINVAL. */
int list_parse_since(const char *text, uint64_t now_ns, uint64_t *since_ns) _must_check_;

/* The command `script`. */
struct script_args {
	const char *capture;
	struct view_options view;
	bool insns;
	bool dry_run;
	bool quiet;
};

/* Returns as command_options(). Strings are not copied. */
int script_parse_args(struct script_args *args, struct console *con, int argc,
		      char **argv) _must_check_;

/* The command `open`. */
struct open_args {
	const char *file;
	const char *output; /* NULL: the name in the archive */
	uint64_t max_size;  /* 0: default */
	bool quiet;
};

/* Returns as command_options(). Strings are not copied. */
int open_parse_args(struct open_args *args, struct console *con, int argc,
		    char **argv) _must_check_;

/* The command `archive`. */
struct archive_args {
	const char *capture;
	const char *output;
	bool force;
	bool no_binaries;
	bool quiet;
};

/* Returns as command_options(). Strings are not copied. */
int archive_parse_args(struct archive_args *args, struct console *con, int argc,
		       char **argv) _must_check_;

/* The command `export`. */
struct export_args {
	const char *capture;
	const char *output; /* NULL: `html` is set */
	const char *html;
	const char *time;  /* or NULL */
	const char *symfs; /* or NULL */
	int axis;	   /* enum calls_axis */
	uint64_t jobs;	   /* 0: one for each CPU */
	uint64_t max_size; /* 0: default */
	bool normal;	   /* with `html` */
	bool force;
	bool quiet;
};

/* Returns as command_options(). Strings are not copied. */
int export_parse_args(struct export_args *args, struct console *con, int argc,
		      char **argv) _must_check_;

#endif
