/* SPDX-License-Identifier: GPL-2.0-only */
/* What the files of session/ share. */
#ifndef CTL_SESSION_SESSION_INTERNAL_H
#define CTL_SESSION_SESSION_INTERNAL_H

#include <json-c/json.h>
#include <perf_poke.h>
#include <poll.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/types.h>

#include "cli/cli.h"
#include "session/session.h"
#include "util.h"

/* -- processes.c */

/* Called when the session is armed: prints where it is, redirects output to the log, which may be a
 * file in the output folder `output_fd`, and releases the caller. Returns 0, or a negative errno
 * after printing the error. */
int detach_release_caller(struct detach *detach, struct console *con,
			  const struct perf_poke_opts *opts, int output_fd) _must_check_;

/* Starts a program in a process group of its own, with signals unblocked: Ctrl-C ends the session,
 * not the program. The kernel resets the scheduling policy. Streams of -1 are /dev/null. Returns 0
 * or a negative errno. */
int spawn_process_group(const char *path, char *const argv[], char *const environment[], int in,
			int out, int err, pid_t *pid) _must_check_;

/* Kills and reaps it, unless a file system that hangs keeps it alive for a second. */
void spawn_kill_process(int pidfd);

/* -- perf_record.c: a user's `perf record` command, and the files that it has written */

#define TARGETS_MAX 16

/* Size of the string that wakes perf; see struct perf_poke_target. */
#define PERF_RECORD_WAKE 24

/* Parses a command. Other programs than perf record are an error unless `any`. Strings are not
 * copied. Returns 0, or a negative errno with *why (allocated). */
int perf_record_read(struct perf_record *record, char **words, bool any, char **why) _must_check_;

/* Makes a string unique to the session. Returns 0 or a negative errno. */
int perf_record_make_wake(char wake[PERF_RECORD_WAKE]) _must_check_;

/*
 * Builds the argv, for argv_free_words(), of a command that listens on `control`, answers on `ack`
 * and starts with its events disabled. If `wake` is not NULL, bpf_trace_printk() of that string
 * wakes it. Returns 0 or -ENOMEM.
 */
int perf_record_argv(const struct perf_record *record, int control, int ack, const char *wake,
		     char ***argv) _must_check_;

/* The first control command. The answer means that perf listens and that its events are enabled,
 * or follow the user's --delay. */
const char *perf_record_first(const struct perf_record *record);

/* Files or folders. */
struct perf_files {
	struct perf_file {
		char *path;
		dev_t dev;
		ino_t ino;
	} * files;
	size_t nr;
};

/* Finds `output` and the `output`.TIMESTAMP of --switch-output. Returns 0 or -ENOMEM. */
int perf_files_find(struct perf_files *found, const char *output) _must_check_;

/* Drops files that existed before, by inode: perf creates new ones. */
void perf_files_subtract(struct perf_files *found, const struct perf_files *before);

void perf_files_release(struct perf_files *files);

/* -- program.c: the program of the command `run` */

struct program {
	char **argv; /* NULL: none */
	pid_t pid;
	int pidfd; /* -1: none */
	int gate;
	int start_error; /* of execvp(), a negative errno */
	bool ended;
	int status; /* of waitpid(), once it has ended */
};

/* Forks; argv NULL: nothing. Returns 0 or a negative errno. Call program_release() even then. */
int program_create(struct program *program, char **argv) _must_check_;

/* Does not wait: its file system may hang. */
int program_start(struct program *program) _must_check_;

/* The negative errno of execvp(); 0: it has not failed so far. */
int program_start_error(struct program *program);

bool program_has_ended(struct program *program);

/* Waits until it has ended; if `interrupted`, after a SIGTERM. A signal of the descriptor sends
 * SIGTERM, the next one SIGKILL, and one more gives it up. Returns its exit code, or 128 plus its
 * signal. */
int program_finish(struct program *program, int signals, bool interrupted);

/* Kills one that has not started, or was given up. */
void program_release(struct program *program);

/* -- results.c: the results of a session, plain data for the summary and JSON */

/* CPU number of the row of all CPUs together. */
#define ALL_CPUS (-1)

struct result_row {
	int cpu;
	struct perf_poke_stats stats;
	uint64_t p50_ns;
	uint64_t p99_ns;
	uint64_t p999_ns;
	struct perf_poke_bucket *buckets;
	size_t nr_buckets;
};

/* The command of the session, such as perf record. */
struct result_perf {
	int pid;	/* 0: none */
	char **command; /* NULL-terminated; not a copy */
	int status;	/* exit status, or 128 plus the signal */
	struct perf_files data;
};

struct result_kind {
	struct result_row *rows; /* one for each CPU; NULL: not watched */
	struct result_row all;
};

/* What took the watched CPUs from threads. All zero: none. */
struct sources {
	struct perf_poke_source *list;
	const struct perf_poke_source **rows;
	size_t nr;
	bool failed;
};

struct results {
	struct result_kind kinds[KINDS_MAX]; /* irq is always watched */
	size_t nr_rows;
	struct perf_poke_capture *captures; /* complete and not removed; strings are copies */
	size_t *numbers;		    /* of the captures, from 1; NULL: consecutive */
	size_t nr_captures;
	size_t nr_removed; /* by --keep-worst or --max-disk */
	size_t nr_poked;   /* of those taken: by a poke, not by a spike */
	bool keeps;	   /* one of these was given */
	size_t nr_failed;
	const char *known;		      /* file of known causes, or NULL */
	size_t nr_known, nr_new, nr_unjudged; /* captures by their causes */
	uint64_t elapsed_ns;
	struct result_perf perf;
	struct sources sources;
	bool has_program; /* of `run` */
	int program_code; /* its exit code */
};

/* Returns 0 or -ENOMEM. */
int results_add_capture(struct results *results, const struct perf_poke_capture *capture);

void results_remove_capture(struct results *results, const char *path);

/* The number of complete captures, including removed ones. */
size_t results_count_taken(const struct results *results);

/* The number of the i-th remaining capture. */
size_t results_capture_number(const struct results *results, size_t i);

/* Reads the statistics of a session. Returns 0 or a negative errno. */
int results_collect(struct results *results, const struct perf_poke *pp);

void results_release(struct results *results);

/* -- sources.c */

/* None without the trigger interruption. functions: see perf_poke__sources(). Returns 0 or a
 * negative errno. */
int sources_collect(struct sources *sources, const struct perf_poke *pp, bool functions);
void sources_release(struct sources *sources);

/* -- child.c: the targets of a session */

struct child_process_config {
	struct perf_record record;
	const char *wake;   /* see perf_record_argv() */
	int signal;	    /* of a poke */
	int priority;	    /* SCHED_FIFO; 0: inherited */
	const int *watched; /* CPUs that it may not use */
	size_t nr_watched;
	/* Timeouts. */
	uint64_t ready_ns; /* for its answer */
	uint64_t end_ns;   /* for writing its data at the end */
	uint64_t term_ns;  /* after SIGTERM */
};

/* Sets the timeouts only. */
extern const struct child_process_config child_process_defaults;

/* The program that a session starts and pokes: perf record, or another. */
struct child_process {
	const struct child_process_config *config;
	struct console *con;
	char **argv;
	pid_t pid;
	int pidfd;   /* -1: no child */
	int control; /* -1: not perf */
	int ack;
	int gate;
	int stopped_by; /* the signal sent to stop it, or 0 */
	bool ended;
	int status; /* of waitpid(), if ended */
};

/* No child, for child_process_release(). */
extern const struct child_process child_process_none;

/* Creates the process, which waits for child_process_start(), so that its PID is known. Config and
 * console are not copied. Returns 0, or a negative errno after printing the error. */
int child_process_prepare(struct child_process *child, const struct child_process_config *config,
			  struct console *con) _must_check_;

/* Executes the program and waits until it is ready for pokes, or until `interrupt` (or -1) is
 * readable. Returns 0, -EINTR, or another negative errno after printing the error. */
int child_process_start(struct child_process *child, int interrupt) _must_check_;

/* Whether it has exited; reports that, unless it was stopped. */
bool child_process_has_ended(struct child_process *child);

/* Stops it and waits for its exit. Each signal on the signalfd `signals` (or -1) skips to the next
 * harsher way. Returns its exit status, or 128 plus the number of the signal that killed it, but 0
 * for the SIGINT sent to stop it. */
int child_process_stop(struct child_process *child, int signals);

/* Kills it if necessary, and frees. */
void child_process_release(struct child_process *child);

/* All targets: started and configured, poked, and their files collected. */
struct session_targets {
	const struct target_args *args;
	struct console *con;
	struct perf_poke_target array[TARGETS_MAX];
	struct child_process child; /* child_process_none without a command */
	struct child_process_config config;
	char wake[PERF_RECORD_WAKE];
	int *watched;
	struct perf_files before; /* files older than the command */
	bool started;
};

/* No targets, for session_targets_release(). */
extern const struct session_targets session_targets_none;

/* Creates the process of the command, if any, and adds the targets to opts. Arguments are not
 * copied. Returns 0, or a negative errno after printing the error. */
int session_targets_prepare(struct session_targets *targets, const struct target_args *args,
			    struct console *con, struct perf_poke_opts *opts) _must_check_;

/* Stops the command and finds its files. Returns 0, or a negative errno after printing the error.
 */
int session_targets_finish(struct session_targets *targets, int signals,
			   struct result_perf *result) _must_check_;

void session_targets_release(struct session_targets *targets);

/* -- summary.c: results as text */

/* Returns 0 or -ENOMEM. */
int summary_print(FILE *file, const struct results *results);

/* Formats `, ran on CPU 1` if the thread was migrated; else "". Returns buf. */
const char *format_ran_cpu(char *buf, size_t size, const struct perf_poke_spike *spike);

#define HISTOGRAM_MAX_ROWS 12

/* The buckets are in ascending order. */
void histogram_print(FILE *file, const struct perf_poke_bucket *buckets, size_t nr);

struct top_state {
	uint64_t elapsed_ns;
	size_t captures;
	uint64_t skid_ns; /* of the newest capture; 0: none */
	size_t columns;	  /* of the terminal; 0: there is none */
};

/* Returns 0 or a negative errno. */
int top_print_session(FILE *file, const struct perf_poke *pp, const struct top_state *state);

/* -- session_json.c */

json_object *json_armed_line(const int *cpus, size_t nr, const struct perf_poke_opts *opts,
			     const char *session, const char *recorder, const char *workload,
			     const char *delivery);
json_object *json_detached_line(const char *session, int pid, const char *log);
json_object *json_removed_line(const char *path);
json_object *json_summary_line(const struct results *results);

/* -- errands.c: a thread for what may wait for a file system or for a new process */

struct errand {
	int (*run)(struct errand *errand);   /* in the thread; uses what the session leaves alone */
	void (*done)(struct errand *errand); /* in the session, with the result in err */
	void *ctx;
	int err;
	int done_fd; /* of the thread */
};

struct errands {
	struct outlet *outlet; /* NULL: the session does them itself */
	int fd;		       /* readable when one is done; -1: never */
	int done_fd;
	size_t nr; /* not done */
};

/* Returns 0 or a negative errno. */
int errands_start(struct errands *errands) _must_check_;

/* The errand must stay until it is done. errands NULL: it is done before this returns. */
void errands_add(struct errands *errands, struct errand *errand);

/* Calls done() of those that are. */
void errands_handle(struct errands *errands);

/* Waits for the rest, unless `interrupt` is readable or one takes long. Returns 0, or as
 * outlet_finish(). */
int errands_finish(struct errands *errands, int interrupt) _must_check_;

void errands_release(struct errands *errands);

/* -- cause_worker.c: finds the causes of captures and, with --known, whether they are new: runs
 * `causes` in a separate process, one capture at a time, so that decoding delays no snapshot */

enum cause_verdict {
	CAUSE_VERDICT_KNOWN,
	CAUSE_VERDICT_NEW, /* or worse */
	CAUSE_VERDICT_UNJUDGED,
};

struct cause_worker {
	const char *known;	 /* file of known causes; NULL: every cause is reported alike */
	struct errands *errands; /* start the process; NULL: the caller does */
	char **paths;		 /* captures; the first one is being judged */
	size_t nr;
	int pidfd;	    /* of the judging process; -1: none */
	int output, errors; /* its standard output and error */
	struct errand start;
	bool starting;
	/* Of the errand: */
	const char *judged;
	int started;
};

bool cause_worker_is_busy(const struct cause_worker *worker);

/* Copies the path. Returns 0 or a negative errno. */
int cause_worker_add(struct cause_worker *worker, const char *path) _must_check_;

/* Call when pidfd is readable: takes the verdict on *path (allocated), and starts on the next
 * capture. *cause is the object of `causes --json`, or NULL without a cause. *why (allocated) is
 * why there is no verdict; NULL: unknown. Returns 0, -EAGAIN without a verdict yet, or another
 * negative errno. */
int cause_worker_next(struct cause_worker *worker, char **path, enum cause_verdict *verdict,
		      json_object **cause, char **why) _must_check_;

/* Kills the judging process. Captures without a verdict stay. */
void cause_worker_release(struct cause_worker *worker);

/* -- metrics.c: metrics of a session in the text format of Prometheus, for the textfile collector
 * of node_exporter; see docs/fleet.md */

struct metrics {
	const char *path;      /* NULL: none */
	uint64_t due;	       /* next time to write, CLOCK_MONOTONIC */
	uint64_t lost;	       /* events, in all captures */
	struct outlet *outlet; /* writes the file; NULL: this thread does */
	_Atomic int result;    /* of the last write */
	bool failed;	       /* the last one that was looked at failed, which was reported */
	struct metrics_cause {
		char *fingerprint;
		uint64_t count;
	} * causes;
	size_t nr;
};

struct metrics_state {
	const char *session;
	const struct results *captures;	  /* captures so far */
	const struct results *statistics; /* current statistics */
	uint64_t commands_failed;
	bool armed;
};

/* Returns 0 or -ENOMEM. */
int metrics_count_cause(struct metrics *metrics, const char *fingerprint) _must_check_;

void metrics_print(FILE *file, const struct metrics *metrics, const struct metrics_state *state);

/* Replaces the file atomically. Warns about the first failure only. */
void metrics_write(struct metrics *metrics, struct console *con, const struct metrics_state *state);

/* From here to metrics_finish_writer() no file system is waited for. Returns 0 or a negative errno.
 */
int metrics_start_writer(struct metrics *metrics) _must_check_;

/* Waits for the last write, unless `interrupt` is readable or it takes long. */
void metrics_finish_writer(struct metrics *metrics, struct console *con, int interrupt);

void metrics_release(struct metrics *metrics);

/* -- capture_hooks.c: finds the cause of a capture, then updates journal and metrics and runs a
 * command */

/* A few commands run at once, each for a limited time. Commands inherit the session's CPUs, not its
 * priority. Failures are warnings. */
#define HOOK_COMMANDS_MAX 2
#define HOOK_COMMAND_NS UINT64_C(60000000000)

struct hook_job {
	char **environment; /* NAME=VALUE, NULL-terminated, in addition to the session's own */
	char *input;
	char *capture; /* path */
};

struct hook_commands {
	const char *command;	 /* for the shell; NULL: none */
	struct errands *errands; /* start commands; NULL: the caller does */
	struct console *con;
	struct hook_job *waiting;
	size_t nr;
	struct hook_run {
		struct hook_job job;
		int pidfd; /* -1: none */
		pid_t pid; /* also its process group */
		uint64_t end_ns;
		bool late; /* it was killed: UINT64_MAX is its end */
		struct hook_commands *commands;
		struct errand start;
		bool starting;
		int started; /* of the errand: the pidfd */
	} runs[HOOK_COMMANDS_MAX];
	size_t failed; /* failed commands so far */
};

void hook_commands_init(struct hook_commands *commands, const char *command);

/* Takes ownership of the members of the job. */
int hook_commands_add(struct hook_commands *commands, struct console *con,
		      struct hook_job *job) _must_check_;

/* Reaps commands, kills those over their time limit, and starts the next ones. */
void hook_commands_handle(struct hook_commands *commands, struct console *con);

bool hook_commands_are_busy(const struct hook_commands *commands);
uint64_t hook_commands_due(const struct hook_commands *commands);

/* Kills running commands and drops waiting ones. Returns their number. What the kernel does not let
 * die within a second is left. */
size_t hook_commands_release(struct hook_commands *commands);

struct capture_hooks {
	struct console *con;
	struct results *results;
	bool why;		    /* print the sentences */
	const struct perf_poke *pp; /* set when armed */
	const char *session;
	bool journal; /* write an entry for each capture with a cause */
	bool failed;
	struct errands errands;
	struct cause_worker worker;
	struct hook_commands commands;
	struct metrics metrics;
};

#define CAPTURE_HOOKS_FDS (2 + HOOK_COMMANDS_MAX)

/* Removes a capture, known by the time of its spike: the folder is perhaps a user's, who may have
 * put another one in its place. Returns 0 or a negative errno. */
int capture_folder_remove(const char *path, uint64_t time_ns) _must_check_;

void capture_hooks_init(struct capture_hooks *hooks, struct console *con, struct results *results,
			const struct capture_hooks_opts *opts);

/* Call when the session is armed. Returns 0 or a negative errno. */
int capture_hooks_arm(struct capture_hooks *hooks, const struct perf_poke *pp,
		      bool journal) _must_check_;

/* Adds a complete capture, which `results` has too. */
void capture_hooks_add(struct capture_hooks *hooks, const struct perf_poke_capture *capture);

/* Descriptors to wait for (-1: none), and for how long (CLOCK_MONOTONIC; UINT64_MAX: no limit). */
void capture_hooks_fds(const struct capture_hooks *hooks, struct pollfd fds[CAPTURE_HOOKS_FDS]);
uint64_t capture_hooks_due(const struct capture_hooks *hooks);

/* Does pending work, without waiting. */
void capture_hooks_handle(struct capture_hooks *hooks);

/* Waits for the rest. A new signal drops it: captures without a verdict stay, commands are
 * killed. */
void capture_hooks_finish(struct capture_hooks *hooks, int signals);

void capture_hooks_release(struct capture_hooks *hooks);

#endif
