/* SPDX-License-Identifier: GPL-2.0-only */

/*
 * The command line: commands, options, results, messages and files. It may include src/shared and
 * the public library only.
 */
#ifndef CTL_CLI_CLI_H
#define CTL_CLI_CLI_H

#include <perf_poke.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "json_util.h"
#include "output_file.h"
#include "units.h"
#include "util.h"

/* The target of --log: a file to append to, or the journal. */
enum logger_kind {
	LOGGER_NONE,
	LOGGER_FILE,
	LOGGER_JOURNAL,
};

struct logger {
	enum logger_kind kind;
	int fd;	     /* of LOGGER_FILE */
	bool failed; /* a write failed */
};

/* `where` is a path or "journal". Refuses what others may have put there: symbolic links in folders
 * that they can change, files of theirs, files with several names, FIFOs. Returns 0, or a negative
 * errno with *why (allocated). */
int logger_open_path(struct logger *log, const char *where, char **why) _must_check_;

/* The same for a file among captures, where any symbolic link is refused. Returns 0 or a negative
 * errno. */
int logger_open_at(struct logger *log, int dirfd, const char *name) _must_check_;

void logger_release(struct logger *log);

/* Of root, the user of sudo, who is trusted like root; else root. */
uid_t sudo_user_id(void);

/* Formats a message without newline for logger_write_result(), allocated. A file gets the time and
 * the PID in front. */
char *logger_format_line(const struct logger *log, const char *line);

/* Writes a result verbatim, in one piece. */
void logger_write_result(struct logger *log, enum perf_poke_log_level level, const char *text);

/* Service manager and journal. Without libsystemd both are reported as absent. */
bool systemd_is_built(void);

/* Whether NOTIFY_SOCKET is set. */
bool systemd_wants_notify(void);

/* sd_notify(3), if NOTIFY_SOCKET is set. */
void systemd_notify(const char *state);

/* Whether journald is running. */
bool systemd_has_journal(void);

/* Writes one entry of any length with a priority of syslog(3). Returns 0 or a negative errno. */
int systemd_write_journal(int priority, const char *text);

/* Writes the entry of a capture, with these NAME=VALUE. Returns 0 or a negative errno. */
int systemd_write_capture_entry(const char *message, char *const *fields);

/* What a session writes while it runs: to others, who may not read. */
struct outlet;

struct outlet_job {
	void (*write)(struct outlet_job *job); /* may wait */
	void *ctx;
	int level;
	char *text;    /* allocated, or NULL */
	char **fields; /* for argv_free_words(), or NULL */
	/* The outlet's. */
	size_t size;
	struct outlet_job *next;
};

/* Starts a thread that takes no signals. say_dropped, or NULL, is called in it. Returns 0 or a
 * negative errno. */
int outlet_new(struct outlet **ret, size_t max_size, void (*say_dropped)(void *ctx, size_t nr),
	       void *ctx) _must_check_;

/* Takes the job's text and fields. False: it is dropped, because more than max_size waits. */
bool outlet_add_job(struct outlet *outlet, const struct outlet_job *job);

/* Whether nothing waits. */
bool outlet_is_idle(struct outlet *outlet);

/* Writes the rest, until `interrupt` is readable or the time is over (-1: never). Returns 0, or
 * -EINTR or -ETIMEDOUT if the thread still runs: it refers to all of its jobs, so that the process
 * has to end with _exit(). */
int outlet_finish(struct outlet *outlet, int interrupt, int timeout_ms) _must_check_;

/* Output of a command: results go to `out`, messages to `err`. With --log, messages go to the log
 * instead; a detached session writes results there too. */
struct console {
	FILE *out;
	FILE *err;
	size_t columns;		   /* of the terminal behind `out`; 0: not folded */
	struct console_fold *fold; /* or NULL */
	struct logger log;	   /* when open, replaces `err` */
	bool detached;		   /* `log` replaces `out` too */
	/* With --json, formats an error as an allocated line; see console_use_json(). Errors then
	 * go to `out` too, and `err` takes no info messages. */
	char *(*json)(const char *error);
	bool verbose;	       /* `err` takes debug messages too */
	bool drawn;	       /* the status line is visible */
	size_t errors;	       /* messages at error level so far */
	struct outlet *outlet; /* all goes through it, unless NULL */
	int deaf_fd;	       /* with an outlet: readable once standard output has failed */
	_Atomic bool deaf;
	bool abandoned; /* a thread still waits: only _exit() ends the process */
};

/* The width of the terminal behind a file; 0: there is none. */
size_t terminal_columns(FILE *file);

/* The same of `out`, or what lines are folded at where that is narrower. */
size_t console_terminal_columns(const struct console *con);

/* From here to console_unfold(), lines of `out` are folded at the width of the terminal, if there
 * is one. */
void console_fold(struct console *con);
void console_unfold(struct console *con);

/* Clears the terminal. */
void console_clear_screen(struct console *con);

/* From here to console_foreground() no output waits for its readers. Returns 0 or a negative errno.
 */
int console_background(struct console *con) _must_check_;

/* Writes the rest, until `interrupt` is readable. */
void console_foreground(struct console *con, int interrupt);

void console_log_message(struct console *con, enum perf_poke_log_level level, const char *msg);
void console_error(struct console *con, const char *format, ...) _printf_(2, 3);
void console_warn(struct console *con, const char *format, ...) _printf_(2, 3);
void console_info(struct console *con, const char *format, ...) _printf_(2, 3);

/* Writes and flushes a result, which ends in a newline. */
void console_result(struct console *con, const char *text);

/* sd_notify(3), if there is a service manager. */
void console_notify(struct console *con, const char *format, ...) _printf_(2, 3);

/* Writes a journal entry with these NAME=VALUE. Takes the fields. */
void console_journal(struct console *con, const char *message, char **fields);

/* Whether standard output failed. A full log does not count: nobody may be watching it. */
bool console_is_deaf(const struct console *con);

/* Whether standard output is a pipe or a socket whose other end is closed. */
bool console_reader_is_gone(const struct console *con);

/* Whether there is a terminal for a status line. */
bool console_has_status(const struct console *con);

/* Draws the status line in place; any other output clears it. */
void console_status(struct console *con, const char *text);
void console_clear_status(struct console *con);

/* Output of --json: one object a line. Times are nanoseconds; their keys end in _ns. */

/* A new object with this "type". */
json_object *json_typed_object(const char *type);

/* Writes and flushes one line, safe for a terminal. Takes the object. */
void json_print_line(struct console *con, json_object *object);

/* Switches the console to JSON if --json was given. */
void console_use_json(struct console *con, bool json);

/* Progress of a long copy: shown on a terminal after a second. */
struct progress {
	struct console *con;
	const char *what;
	uint64_t total; /* bytes; 0: unknown */
	uint64_t done;
	uint64_t shown_ns; /* time of the last update, or of the start */
};

void progress_begin(struct progress *progress, struct console *con, const char *what,
		    uint64_t total);
/* For pack and unpack: returns 0. */
int progress_add(void *progress, uint64_t bytes);
void progress_end(struct progress *progress);

/* Signals that terminate a command: SIGINT, SIGTERM, and SIGHUP unless ignored (nohup). */
void signals_fill_set(sigset_t *set);

/* Blocks the signals permanently. Returns a non-blocking signalfd, or a negative errno. */
int signals_open_fd(void);

/* Takes the signals that have come so far. A negative descriptor has none. Returns whether the last
 * one was typed, so that all processes in the foreground of the terminal have got it. */
bool signals_drain_fd(int fd);

/* Between signals_catch_ending() and signals_restore_old() the signals set signals_asked_end. It is
 * never reset: a signal may arrive between two phases of a command. */
extern volatile sig_atomic_t signals_asked_end;

struct signals_old {
	struct sigaction old[3];
};

void signals_catch_ending(struct signals_old *saved);
void signals_restore_old(const struct signals_old *saved);

/* Starts a thread that ends the process at once when one of these signals comes, whatever the
 * process is doing or waiting for: what is incomplete is removed, and standard error gets
 * "interrupted" and what is `said`: of a command with one output file or folder, that it is not
 * written, else "". Once that is published, the command ends as without the signal. Call it before
 * other threads are made. Returns 0 or a negative errno. */
int signals_end_process(const char *said) _must_check_;

/* Does not return once such a signal has come: for loops that make files. */
void signals_hold_if_ended(void);

/* -- Commands that read files of strangers, and do no more than read and write files */

#define READER_MAX_SIZE .min = 1, .max = UINT64_C(1) << 50, .metavar = "SIZE"
#define READER_MAX_SIZE_HELP "limit of memory, and of the unpacked size of an archive (2G)"

/*
 * From now on the process takes no more memory than max_size (0: CAPTURE_MAX_SIZE), and
 * signals_end_process() applies. Returns 0, or a negative errno after printing the error.
 */
int reader_begin(struct console *con, uint64_t max_size, const char *said) _must_check_;

struct analysis_hooks;

/* For what reads a capture: messages and progress go to the console, the signals of
 * signals_catch_ending() stop it, and the limits of reader_begin() hold. `con` must outlive the
 * hooks. */
void reader_hooks(struct console *con, struct analysis_hooks *hooks);

/* Message for an error, which may be of the limit. */
const char *reader_strerror(int err);

#define OUTPUT_FORCE_HELP "overwrite an existing file"

/* The name that is most similar to a mistyped word. */
struct similar_name {
	const char *word;
	size_t length;
	const char *name; /* NULL: none is similar */
	size_t distance;
};

void similar_name_try(struct similar_name *similar, const char *name);

/* Options of a command: one table row each, for parsing, --help and completion. */

/* For the notes of a command with times. */
#define OPTIONS_TIMES "Times take ns, us, ms, s, m, h or d; a bare number is microseconds"

struct option_spec {
	const char *name; /* without dashes */
	char short_name;  /* or 0 */
	enum option_kind kind;
	bool required;
	bool repeatable;
	uint64_t min, max;			/* of times, sizes and counts */
	const struct perf_poke_choice *choices; /* help NULL: covered by the option's help */
	size_t nr_choices;
	/* Or the values of an axis of the library; see OPTIONS_AXIS(). */
	const struct perf_poke_choice *(*choice)(enum perf_poke_axis axis, size_t i);
	enum perf_poke_axis axis;
	/* Returns 0, or a negative errno with *why: what the value is or should be. */
	int (*parse)(void *target, const char *value, char **why);
	size_t offset;	     /* of the variable in the target */
	const char *metavar; /* the value's name in help */
	const char *help;    /* may have several lines */
};

#define OPTIONS_AXIS(name) .choice = perf_poke__choice, .axis = PERF_POKE_AXIS_##name

/*
 * Parses argv into target with getopt_long(3): long names may be abbreviated, letters joined.
 * argv[0] is skipped; argv[argc] is NULL. Strings are not copied. Not thread-safe.
 *
 * Returns 0, 1 for --help, -EINVAL with *error (allocated, one line), or -ENOMEM.
 */
int options_parse_argv(const struct option_spec *specs, size_t nr, int argc, char **argv,
		       void *target, char **error) _must_check_;

/* The i-th value of an option; NULL past the end. */
const struct perf_poke_choice *options_get_choice(const struct option_spec *spec, size_t i);

/* Copies the rows, allocated; one of kind OPTION_SESSION becomes all options of the library. NULL:
 * no memory. */
struct option_spec *options_expand_rows(const struct option_spec *specs, size_t nr, size_t *nr_all);

/* The row of --help, which every command has. */
extern const struct option_spec options_help_row;

void options_print_help(FILE *file, const struct option_spec *specs, size_t nr);

/* Commands of perf-poke-ctl and their dispatch. */
enum exit_code {
	EXIT_FINE = 0,
	EXIT_FAILED = 1,
	EXIT_USAGE = 2,
	EXIT_NO_SPIKE = 3,
	EXIT_NEW_CAUSE = 4,
	EXIT_INTERRUPTED = 5, /* of --trigger interruption */
};

struct command {
	const char *name;
	const char *summary;   /* one line of the command list; NULL: unlisted */
	const char *arguments; /* after the name in the usage line */
	const char *example;   /* a command line */
	const char *notes;     /* after the options in --help */
	bool folds;	       /* its results are lines to read, see console_fold() */
	const struct option_spec *options;
	size_t nr_options;
	/* argv[0] is the program, argv[1] the command. */
	enum exit_code (*run)(struct console *con, int argc, char **argv);
};

/* For the two members of struct command. */
#define COMMAND_OPTIONS(rows) .options = (rows), .nr_options = ARRAY_SIZE(rows)

/* Parses options into target. Returns 0, 1 after printing --help, or a negative errno after
 * printing the error. */
int command_options(const struct command *cmd, struct console *con, int argc, char **argv,
		    void *target) _must_check_;

/* The exit code for a result of command_options() other than 0. */
enum exit_code command_options_exit(int err);

/* These lists of commands end with NULL. */
void commands_print_usage(FILE *file, const struct command *const *commands);

/* Prints that there is no such command, and which is meant. Returns EXIT_USAGE. */
enum exit_code command_explain_unknown(struct console *con, const struct command *const *commands,
				       const char *name);

/* Runs the command that argv names. */
enum exit_code command_dispatch(const struct command *const *commands, int argc, char **argv);

/* Builds the argv of a command. All zero is empty. */
struct argv_builder {
	char **argv;
	size_t nr;
	bool failed;
};

/* Appends a word; a failure is reported by argv_builder_finish(). */
void argv_builder_add(struct argv_builder *builder, const char *format, ...) _printf_(2, 3);

/* Moves the NULL-terminated words to *argv, for argv_free_words(). Returns 0 or -ENOMEM. */
int argv_builder_finish(struct argv_builder *builder, char ***argv) _must_check_;

void argv_free_words(char ***argv);

/* Quotes a word for a shell where needed, into an allocated string. Characters that are unsafe on a
 * terminal become $'\\ooo'. Returns 0 or -ENOMEM. */
int text_shell_word(const char *s, char **word) _must_check_;

#endif
