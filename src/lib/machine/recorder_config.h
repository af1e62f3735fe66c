/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/* Options of a recorder. In base/, because options/ fills them in and recorder/ reads them. */
#ifndef LIB_BASE_RECORDER_CONFIG_H
#define LIB_BASE_RECORDER_CONFIG_H

#include "perf_poke.h"

struct recorder_config {
	const struct perf_poke_opts *opts; /* 0 and NULL: the recorder's default */
	const int *cpus;
	size_t nr_cpus;
	bool osnoise; /* the osnoise tracer runs: record its events by default */
	int work_fd; /* session folder, on the file system of the captures, for data that they share
		      */
};

#endif
