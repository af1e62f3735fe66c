/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Runs a session for `start`, from arming to the results.
 *
 * session/ runs a session and the perf that it pokes, prints its results, and finds and prints
 * other sessions. It may include cli/ and does not read captures.
 */
#ifndef CTL_SESSION_SESSION_H
#define CTL_SESSION_SESSION_H

#include "cli/cli.h"

/* A user's `perf record` command. */
struct perf_record {
	char **words;	    /* the command, NULL-terminated */
	size_t at;	    /* index of `record`; 0: not perf record */
	const char *output; /* file name, or prefix with --switch-output */
	bool has_output;    /* the user gave --output */
	const char *delay;  /* the user's --delay, or NULL */
	uint64_t delay_ns;  /* perf does not answer before */
	bool has_event;
};

/* The kernel waits for a grace period as the last descriptor of a tracepoint's events is closed:
 * some 35 ms for each of 50 tracepoints. After this call a child has these descriptors as well. It
 * closes them after the descriptor that this returns, which the caller closes when the session has
 * stopped. A negative errno: there is no child, and closing takes its time. */
int tracepoints_hand_over(void);

/* The same for perf_poke__leave_tracing(), once the session has stopped. */
void tracing_remove_later(void);

/* The options of `start` that concern targets and are not of the library. */
struct target_args {
	const char *housekeeping;
	char **command;		   /* after `--`, NULL-terminated; or NULL */
	struct perf_record record; /* of the command */
};

/* Checks combinations of options and parses the command. Returns 0, or a negative errno with *why
 * (allocated). */
int target_args_check(struct target_args *targets, const struct perf_poke_opts *opts,
		      char **why) _must_check_;

/* What is done with each capture. */
struct capture_hooks_opts {
	bool why;	   /* print the sentence of each capture */
	const char *known; /* --known: file of known causes; NULL: every cause is reported alike */
	const char *command; /* --on-capture, or NULL */
	const char *metrics; /* file, or NULL */
};

/* A session that runs in the background once it is armed. */
struct detach {
	const char *where; /* value of --log; NULL: choose */
	struct logger log; /* used once the session is armed */
	int caller;	   /* pipe to the waiting caller */
};

/*
 * Forks a child without terminal (setsid) that keeps only standard output and error.
 *
 * Returns 0 in the child. In the caller, waits until the child is armed or has exited, and returns
 * 1 with *code. Returns a negative errno after printing the error if there is no child.
 */
int detach_fork_child(struct detach *detach, struct console *con,
		      enum exit_code *code) _must_check_;

struct session_view {
	char **words;	/* of the command line, NULL-terminated */
	bool top;	/* a table each second */
	char **program; /* of the command `run`; NULL: none */
	struct capture_hooks_opts hooks;
};

/*
 * A session of `start`. Its functions print all results and errors; the first code other than
 * EXIT_FINE is the command's.
 */
struct session;

/*
 * Copies none of its arguments but opts and view. Without a name in opts, the session is named by
 * its PID. Overrides the log and the callbacks of opts. `detach` is the child's, or NULL. Returns
 * NULL after printing the error.
 */
struct session *session_new(struct console *con, const struct perf_poke_opts *opts,
			    const struct target_args *targets, struct detach *detach,
			    const struct session_view *view);

/* Creates the target before the session, and makes it ready before the session is armed. */
enum exit_code session_create(struct session *session);

enum exit_code session_enter_armed(struct session *session, uint64_t duration_ns);

/* Blocks until opts->max_captures are complete, duration_ns has passed since arming (0: no limit),
 * a signal that terminates commands arrives, another process stops the session, or no target is
 * left. */
void session_watch_events(struct session *session);

/* Stops it, waits for its program, and prints the results. */
enum exit_code session_finish(struct session *session);

/* Writes the rest of the output, and ends the process if nobody reads that. */
void session_free(struct session *session);

/* Moves the calling thread, which copies rings, off these CPUs, if others are allowed, and makes it
 * SCHED_FIFO. Threads it creates inherit the affinity only. Returns 0, or the errno of setting the
 * priority. */
int placement_apply(const int *watched, size_t nr);

/* Makes it SCHED_OTHER again. */
void placement_release(void);

/* More than the library has kinds of triggers. */
#define KINDS_MAX 16

const char *kind_display_name(enum perf_poke_trigger_kind kind);

/* What took CPUs from threads, by CPU: nothing if there is none. */
void sources_print(FILE *file, const struct perf_poke_source *const *rows, size_t nr);
json_object *json_new_sources(const struct perf_poke_source *const *rows, size_t nr);

/* Whether it has a threshold that makes spikes. */
bool kind_has_threshold_ns(enum perf_poke_trigger_kind kind);

/* Of a list: `, threshold irq 30us`, or `, thread 60us` where *named says that the word is there,
 * or `, each marker`. */
void kind_put_threshold(FILE *file, enum perf_poke_trigger_kind kind, uint64_t threshold_ns,
			bool *named);

/* The sessions of the machine, for commands that address one. */
struct session_entry {
	char *name;
	bool alive;
	int pid;
	uint64_t last_sequence;
	int only_cpu; /* the only CPU watched; -1: several */
	char *output;
};

struct session_list {
	struct session_entry *entries;
	size_t nr;
	bool out_of_memory;
};

/* Returns 0, or a negative errno after printing the error. */
int session_list_read(struct session_list *list, struct console *con) _must_check_;
void session_list_release(struct session_list *list);

/* Callback of perf_poke__sessions(); ctx is the list. */
void session_list_add(void *ctx, const struct perf_poke_session *session);

/* May return NULL. */
const struct session_entry *session_list_find(const struct session_list *list, const char *name);

/* Chooses the session of this name, alive or dead; without a name, the only live one. Returns
 * EXIT_FINE, or another code after printing the error. */
enum exit_code session_list_choose(const struct session_list *list, struct console *con,
				   const char *name,
				   const struct session_entry **chosen) _must_check_;

/* Reads the list and chooses. */
enum exit_code session_list_pick(struct session_list *list, struct console *con, const char *name,
				 const struct session_entry **chosen) _must_check_;

/* Prints an error of perf_poke__sessions(). */
void session_list_print_error(struct console *con, int error);

/* The live table of latencies by CPU, like rtla's, of this or another session. */
struct top_table {
	const int *cpus;
	size_t nr;
	size_t columns; /* of the terminal: kinds that it does not hold follow below; 0: any */
	/* Gets the values of the i-th CPU. Returns 0, -ENXIO if the kind is not watched, or another
	 * negative errno. */
	int (*cell)(const void *ctx, enum perf_poke_trigger_kind kind, size_t i,
		    struct perf_poke_stats *stats, uint64_t *p99_ns);
	const void *ctx;
};

/* Returns 0 or a negative errno. */
int top_print_table(FILE *file, const struct top_table *table);

/* Objects of --json. */
json_object *json_capture_line(const struct perf_poke_capture *capture);
json_object *json_capability_line(const struct perf_poke_capability *capability);
json_object *json_check_line(bool can_start);
json_object *json_session_line(const struct perf_poke_session *session);

#endif
