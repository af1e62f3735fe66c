/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/* A recorder without a kernel: its snapshots are numbers, its perf.data a file that holds the
 * number. */
#ifndef TEST_LIB_FAKE_RECORDER_H
#define TEST_LIB_FAKE_RECORDER_H

#include "capture/capture.h"
#include "capture/output.h"
#include "options/config.h"

struct snapshot {
	unsigned int number;
};

struct fake_recorder {
	struct recorder recorder;
	int error;	  /* what write() returns after it has written */
	const char *also; /* NULL or another file that write() makes */
	void (*on_write)(unsigned int number);
	/* Changed by one thread, read when it is idle or gone. */
	unsigned int written, freed;
	int spike_cpu;
};

/* The only one: a snapshot has no way back to its recorder. */
extern struct fake_recorder fake;

void fake_reset(void);

/* A fixture: a folder for captures in the test's own, which is config.output. */
extern struct config config;
extern struct capture_env env;
extern struct output captures;

int make_output(void **state);
int remove_output(void **state);

/* With a spike now, 83.5 us late on CPU 3. */
struct capture *fake_capture(unsigned int number);

/* How many files and folders there are in the folder for captures, and in that of the session in
 * it, which is not counted itself. */
unsigned int fake_entries(const struct capture_env *env);

#endif
