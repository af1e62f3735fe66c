/* SPDX-License-Identifier: GPL-2.0-only */
/* The perf script command that shows a capture. */
#ifndef CTL_CAPTURE_VIEW_H
#define CTL_CAPTURE_VIEW_H

#include "cli/cli.h"
#include "facts/facts.h"

#define VIEW_WINDOW_PT_NS UINT64_C(200000)
#define VIEW_WINDOW_EVENTS_NS UINT64_C(10000000)

/* By its name in capture.json. AUTO: unknown. */
enum perf_poke_recorder view_recorder(const char *name);

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
int view_argv(const struct facts *facts, const struct view_options *options, const char *perf,
	      const char *data, char ***argv) _must_check_;

#endif
