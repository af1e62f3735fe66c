/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/* Captures of recordings: the recorder pt, with the AUX buffers of a perf.data in its rings and
 * that file's side-band. */
#ifndef TESTS_REPLAY_H
#define TESTS_REPLAY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "perfdata_read.h"

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
	bool offline;	      /* CPUs that have written nothing since */
	struct perfdata_file file;
	const uint8_t *info; /* fields of its AUXTRACE_INFO */
	uint64_t ids[64];
	size_t nr_ids;
};

/* Exits with a message if there is no such file. */
void replay_open(struct replay *replay, const char *path);

/* Repeats each trace at later times. */
void replay_repeat(struct replay *replay, unsigned int times);

/* Replaces each TSC packet by PAD. */
void replay_forget_times(struct replay *replay);

/* The rings hold `ring` bytes of each trace before `end`, zeros where it has not filled them. The
 * spike is just after the last TSC packet of all. Returns the capture's folder in `output`; the
 * caller frees it. */
char *replay_capture(const struct replay *replay, const char *output, size_t ring, size_t end);

void replay_close(struct replay *replay);

#endif
