/* SPDX-License-Identifier: GPL-2.0-only */

/*
 * Runs sessions against a load of its own and judges them. It may include session/ and
 * src/analysis.
 */
#ifndef CTL_SELFTEST_SELFTEST_H
#define CTL_SELFTEST_SELFTEST_H

#include <json-c/json.h>
#include <perf_poke.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/types.h>

#include "cli/cli.h"
#include "cli/perf_script.h"
#include "util.h"

/* A row: observations of a combination of recorder, freeze and delivery, and the verdicts. */
#define ROW_CAPTURES 2

/* Columns of the table. */
enum row_check {
	CHECK_CAPTURED, /* the delayed timer was captured */
	CHECK_CULPRIT,	/* `report` names the cause */
	CHECK_PERF,	/* stock perf decodes and names it too */
	CHECK_HISTORY,	/* the trace fills the ring */
	CHECK_END,	/* the trace reaches the spike */
	CHECK_SKID,	/* the skid is short and the trace does not exceed it */
	CHECK_REARMED,	/* the second capture begins after the first spike */
	CHECK_SIGNAL,	/* one for each capture */
	CHECK_CLEAN,	/* no leftovers */
	CHECK_NR,
};

enum row_result {
	RESULT_UNKNOWN, /* not checked; `why` may say why */
	RESULT_OK,
	RESULT_WRONG,
};

struct row_verdict {
	enum row_result result;
	char why[256];
};

struct row_capture {
	char *path;
	struct perf_poke_capture told; /* without its strings, as the next */
	struct perf_poke_spike spike;  /* told's */
	uint64_t armed_ns;
	/* Of our decoder; times are CLOCK_MONOTONIC, 0 if unknown. */
	char *sentence; /* NULL: decoding failed */
	bool named, no_times;
	uint64_t first_ns, last_ns, errors;
	uint64_t after_insns; /* executed after the spike; UINT64_MAX: unknown */
	/* Of perf. */
	bool perf_ran, perf_named;
	uint64_t perf_errors;
	char perf_said[128]; /* the error */
};

struct row {
	enum perf_poke_recorder recorder;
	enum perf_poke_freeze freeze;
	enum perf_poke_delivery delivery;
	const char *names[3]; /* of these; "-" if not applicable */
	uint64_t buffer_size;
	/* Observations. */
	char *failure; /* why the session failed, or NULL */
	struct row_capture captures[ROW_CAPTURES];
	size_t nr;	  /* captures of timers that the selftest delayed */
	size_t nr_taken;  /* all captures, including failed ones */
	size_t nr_failed; /* failed captures */
	unsigned int signals;
	uint64_t merged; /* signals merged into a pending one */
	struct row_verdict verdicts[CHECK_NR];
};

/* Sets the verdicts. */
void row_judge_checks(struct row *row);

/* Whether no check failed. */
bool row_passed_checks(const struct row *row);

/* Fails a check; the first reason is kept. */
void row_set_wrong(struct row *row, enum row_check check, const char *format, ...) _printf_(3, 4);

void row_print_header(FILE *file);
void row_print_result(FILE *file, const struct row *row);

/* NULL if there is no memory. */
json_object *row_json_object(const struct row *row);

void row_release_all(struct row *row);

/* The load of a selftest, in processes of its own: a BPF program of a known name that delays timers
 * on a busy CPU, and a target that counts the signals it receives. */

/* Common part of the function names in bpf/late.bpf.c. */
#define LOAD_FUNCTION "late_s"
/* How the kernel has the other CPU run it: net/bpf/test_run.c */
#define LOAD_CALL "__bpf_prog_test_run_raw_tp"
/* See struct perf_poke_target. */
#define LOAD_WAKE "perf-poke-selftest"

#define LOAD_PROCESSES 4

struct load {
	struct late_bpf *skel;
	struct load_shared *shared;
	int cpu;
	int gate[2];		    /* pipe: a byte for each spin */
	int ball[2];		    /* socketpair of the busy tasks */
	pid_t pids[LOAD_PROCESSES]; /* the first is the target, which counts SIGUSR2 */
	uint64_t spin_ns;
};

/* Loads the program; needs root. Call load_close_program() even on failure. Returns 0 or a negative
 * errno.
 */
int load_open_program(struct load *load, int cpu, uint64_t spin_ns) _must_check_;

/* Starts the processes. Returns 0 or a negative errno. */
int load_start_processes(struct load *load) _must_check_;

/* Makes the CPU busy, after arming, which it would slow down. Returns 0 or a negative errno. */
int load_make_cpu_busy(const struct load *load) _must_check_;

/* Ends all processes but the target. */
void load_end_busy_tasks(struct load *load);
void load_end_processes(struct load *load);

/* Delays the timers of the CPU once. */
void load_delay_timers(const struct load *load);

/* Whether a spin delayed a timer with these times. */
bool load_delayed_timer(const struct load *load, uint64_t expected_ns, uint64_t time_ns);

unsigned int load_count_signals(const struct load *load);

void load_close_program(struct load *load);

/* Decodes a capture of the selftest with our report and with stock perf. */

/* Both store their results in the capture; messages go to the console. */
void decode_by_report(struct row_capture *capture, struct console *con);
void decode_by_perf(struct row_capture *capture, const struct perf_tool *perf, struct console *con);

/* Runs one row of the selftest: a session that captures delayed timers. */
struct selftest_run {
	struct console *con; /* for messages of the session and of decoding */
	int cpu;
	uint64_t threshold_ns;
	const char *output;	      /* folder for captures; created if missing */
	const struct perf_tool *perf; /* or NULL */
	struct load load;
};

/* Sets the observations. Stops early, after cleaning up, once signals_asked_end is set.
 */
void selftest_run_row(struct selftest_run *run, struct row *row);

/* The archive of a selftest, for bug reports. */
struct bundle {
	char *const *lines;    /* output of --json and of `check --json` */
	char *const *messages; /* of sessions and decoding */
	char **captures;       /* folders */
	size_t nr;
};

/* Adds facts of this machine. Returns 0, or a negative errno after printing the error. */
int bundle_write_archive(const struct bundle *bundle, struct console *con, const char *path,
			 bool force) _must_check_;

#endif
