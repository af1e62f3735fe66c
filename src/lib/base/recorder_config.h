/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/* Options of a recorder. In base/, because options/ fills them in and recorder/ reads them. */
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
	bool osnoise;	   /* the osnoise tracer runs: record its events by default */
	size_t nr_targets; /* to poke */
	const char *const *argv;
	size_t argc;
	int work_fd; /* session folder, on the file system of the captures, for data that they share
		      */
};

#endif
