/* SPDX-License-Identifier: GPL-2.0-only */
/* What perf is asked to show of a capture, as the words of a command. */
#ifndef CTL_CAPTURE_VIEW_H
#define CTL_CAPTURE_VIEW_H

#include <stdbool.h>
#include <stdint.h>

#include "util.h"

#define VIEW_WINDOW_PT_NS UINT64_C(200000)
#define VIEW_WINDOW_EVENTS_NS UINT64_C(10000000)

enum view_kind {
	VIEW_EVENTS,
	VIEW_PT,
	VIEW_PERF, /* there is nothing to view: the perf that was poked has the trace */
	VIEW_NR,
};

/* As the recorder is named. */
const char *view_kind_name(enum view_kind kind);

struct view_capture {
	enum view_kind kind;
	bool sampled;	      /* Intel PT in a sample of an event, not in a ring */
	bool no_times;	      /* of Intel PT, where TSC was not perf's clock */
	bool ends_at_spike;   /* of Intel PT: the kernel stopped it there */
	int cpu;	      /* of the spike; negative: of no CPU in particular */
	uint64_t spike_ns;    /* on the clock of what was recorded */
	uint64_t expected_ns; /* on that clock; these three are 0 if not known */
	uint64_t latency_ns;
	uint64_t history_ns;
};

enum view_insns {
	VIEW_INSNS_NONE, /* calls and returns */
	VIEW_INSNS_RAW,
	VIEW_INSNS_XED,
	VIEW_INSNS_DISASM,
};

struct view_options {
	uint64_t window_ns; /* before the spike; 0: what suits the kind */
	bool all;	    /* no window */
	bool all_cpus;
	const char *cpus; /* as perf takes them; NULL: the spike's, or all_cpus */
	enum view_insns insns;
	const char *buildid_dir; /* where the files are that were traced; NULL: as perf has it */
	char **rest;		 /* for perf as they are, up to a NULL; or NULL */
};

/* The words of the command, up to a NULL, for view_free_argv(). Returns 0 or -ENOMEM. */
int view_argv(const struct view_capture *capture, const struct view_options *options,
	      const char *perf, const char *data, char ***argv) _must_check_;

void view_free_argv(char ***argv);

#endif
