/* SPDX-License-Identifier: GPL-2.0-only */
/* Parses a user's `perf record` command and adds the options that control it. */
#ifndef CTL_SESSION_PERF_RECORD_H
#define CTL_SESSION_PERF_RECORD_H

#include <stdbool.h>
#include <stdint.h>

#include "cli/cli.h"
#include "util.h"

/* Size of the string that wakes perf; see struct perf_poke_target. */
#define PERF_RECORD_WAKE 24

struct perf_record {
	char **words;	    /* the command, NULL-terminated */
	size_t at;	    /* index of `record`; 0: not perf record */
	const char *output; /* file name, or prefix with --switch-output */
	bool has_output;    /* the user gave --output */
	const char *delay;  /* the user's --delay, or NULL */
	uint64_t delay_ns;  /* perf does not answer before */
	bool has_event;
};

/* Parses a command. Other programs than perf record are an error unless `any`. Strings are not
 * copied. Returns 0, or a negative errno with *why (allocated). */
int perf_record_read(struct perf_record *record, char **words, bool any, char **why) _must_check_;

/* Makes a string unique to the session. Returns 0 or a negative errno. */
int perf_record_make_wake(char wake[PERF_RECORD_WAKE]) _must_check_;

/*
 * Builds the argv, for words_freep(), of a command that listens on `control`, answers on `ack` and
 * starts with its events disabled. If `wake` is not NULL, bpf_trace_printk() of that string wakes
 * it. Returns 0 or -ENOMEM.
 */
int perf_record_argv(const struct perf_record *record, int control, int ack, const char *wake,
		     char ***argv) _must_check_;

/* The first control command. The answer means that perf listens and that its events are enabled,
 * or follow the user's --delay. */
const char *perf_record_first(const struct perf_record *record);

#endif
