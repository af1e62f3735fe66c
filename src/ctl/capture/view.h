/* SPDX-License-Identifier: GPL-2.0-only */
/* The perf script command that shows a capture. */
#ifndef CTL_CAPTURE_VIEW_H
#define CTL_CAPTURE_VIEW_H

#include <stdbool.h>
#include <stdint.h>

#include <perf_poke.h>

#include "cli/cli.h"
#include "util.h"

#define VIEW_WINDOW_PT_NS UINT64_C(200000)
#define VIEW_WINDOW_EVENTS_NS UINT64_C(10000000)

/* The poked perf has its own trace. */
static inline bool view_has_trace(enum perf_poke_recorder recorder)
{
	return recorder != PERF_POKE_RECORDER_PERF && recorder != PERF_POKE_RECORDER_NONE;
}

/* By its name in capture.json. AUTO: unknown. */
enum perf_poke_recorder view_recorder(const char *name);

struct view_capture {
	enum perf_poke_recorder recorder;
	bool sampled;	      /* Intel PT in an AUX sample, not in a ring */
	bool no_times;	      /* Intel PT whose TSC was not perf's clock */
	bool ends_at_spike;   /* Intel PT that the kernel stopped at the spike */
	int cpu;	      /* of the spike; negative: none */
	uint64_t spike_ns;    /* on the clock of the trace */
	uint64_t expected_ns; /* on that clock; this and the next two are 0 if unknown */
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
	uint64_t window_ns; /* before the spike; 0: default of the recorder */
	bool all;	    /* no window */
	bool all_cpus;
	const char *cpus; /* a list; NULL: the spike's CPU, unless all_cpus */
	enum view_insns insns;
	const char *buildid_dir; /* or NULL */
	char **rest;		 /* more arguments, NULL-terminated; or NULL */
};

/* Builds a NULL-terminated argv for words_freep(). Returns 0 or -ENOMEM. */
int view_argv(const struct view_capture *capture, const struct view_options *options,
	      const char *perf, const char *data, char ***argv) _must_check_;

#endif
