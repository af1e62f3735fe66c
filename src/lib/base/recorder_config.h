/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/* The options of a recorder. Here because options/ fills it in and recorder/ reads it. */
#ifndef LIB_BASE_RECORDER_CONFIG_H
#define LIB_BASE_RECORDER_CONFIG_H

#include "perf_poke.h"

struct recorder_config {
	const int *cpus;
	size_t nr_cpus;
	const struct perf_poke_event *events; /* NULL: the recorder's default */
	size_t nr_events;
	uint64_t buffer_size; /* bytes per CPU; 0: the recorder's default */
	enum perf_poke_freeze freeze;
	bool freeze_all, no_switch_events, raw_rings;
	bool call_graph, no_samples;
	bool osnoise; /* that tracer runs: its events are among the default ones */
	uint64_t sample_size, history_size; /* 0: the recorder's default */
	size_t nr_targets;		    /* that the session pokes */
	const char *const *argv;
	size_t argc;
	int work_fd; /* the session's folder, on the captures' file system, for what they share */
};

#endif
