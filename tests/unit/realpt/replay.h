/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/* Captures of recordings: what the recorder pt writes when its rings hold the AUX buffers of a
 * perf.data, with that file's side-band. */
#ifndef TESTS_REPLAY_H
#define TESTS_REPLAY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "read.h"

#define REPLAY_TRACES 4

struct replay_trace {
	int cpu;
	uint8_t *bytes;
	size_t len;
};

struct replay {
	struct replay_trace traces[REPLAY_TRACES];
	size_t nr;
	uint64_t started_tsc; /* of the session */
	bool offline;	      /* the CPUs: they have written nothing since */
	struct perfdata_file file;
	const uint8_t *info; /* fields of its AUXTRACE_INFO */
	uint64_t ids[64];
	size_t nr_ids;
};

/* Exits with a message where there is no such file. */
void replay_open(struct replay *replay, const char *path);

/* Makes each trace so many times as long: again, at later times. */
void replay_repeat(struct replay *replay, unsigned int times);

/* Makes PAD of each TSC packet. */
void replay_forget_times(struct replay *replay);

/* The rings hold `ring` bytes, of each trace those before `end`; what a trace has not filled is
 * zeros. The spike is just after the last TSC packet of all. The folder of the
 * capture, made in `output`, is the caller's to free. */
char *replay_capture(const struct replay *replay, const char *output, size_t ring, size_t end);

void replay_close(struct replay *replay);

#endif
